/** The page of one request. */
import { html } from '../parts/html.js';
import { hrefOf, listBefore } from '../parts/location.js';
import { timeOf } from '../parts/time-of.js';
import { RequestDetail } from '../parts/request-detail.js';
import { Head } from '../parts/shell.js';

/**
 * The address of the list from which the request was opened, or else of the log with the same range of time.
 * @param {URLSearchParams} params
 */
function listOf(params) {
  const before = listBefore();
  if (before === null) return hrefOf('/dashboard/logs', timeOf(params));
  const { pathname, searchParams } = new URL(before, location.origin);
  for (const name of ['log', 'tab']) searchParams.delete(name);
  return hrefOf(pathname, searchParams);
}

/** @param {{ id: string, params: URLSearchParams }} props */
export const RequestPage = ({ id, params }) =>
  html`<${Head} title=${html`<a href=${listOf(params)}>Logs</a> <span class="soft">/</span> Request`} />
    <div class="request-page"><${RequestDetail} id=${id} params=${params} /></div>`;
