/** The clients, by the name that each sends, with their requests, share and cost. */
import { html } from './html.js';
import { useData } from './api.js';
import { hrefOf } from './location.js';
import { TopList } from './top-list.js';

const mostShown = 8;

/** Empty where there were no requests. @param {{ since: string, during: string }} props */
export function Callers({ since, during }) {
  const { data } = useData(`/api/stats?by=agent&since=${since}&limit=200`, { everyMs: 30_000 });
  if (data === null || data.data.length === 0) return null;
  const link = (/** @type {string | null} */ agent) => hrefOf('/dashboard/logs', new URLSearchParams({ since, agent: agent ?? '' }));
  const sum = (of) => data.data.reduce((total, row) => total + row[of], 0);
  return html`<${TopList}
    title=${html`Who asks <span class="soft">${during}</span>`}
    rows=${data.data.slice(0, mostShown)}
    total=${{ requests: sum('requests'), errors: sum('errors') }}
    rank="requests"
    link=${link}
    more=${hrefOf('/dashboard/breakdown', new URLSearchParams({ since, by: 'agent', metric: 'requests' }))}
    none="no name"
  />`;
}
