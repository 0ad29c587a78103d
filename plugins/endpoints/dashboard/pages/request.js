/** One request as a page of its own. */
import { html } from '../parts/html.js';
import { RequestDetail } from '../parts/request-detail.js';
import { Head } from '../parts/shell.js';

/** @param {{ id: string, params: URLSearchParams }} props */
export const RequestPage = ({ id, params }) => html`<${Head} title=${html`<a href="/dashboard/logs">Logs</a> <span class="soft">/</span> Request`} /><div class="request-page"><${RequestDetail} id=${id} params=${params} /></div>`;
