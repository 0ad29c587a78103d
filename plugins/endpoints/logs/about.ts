/** What the OpenAPI document says of each endpoint. */
import { attemptDimensions, dimensions, filterHelp } from '../../../core/log/filters.ts';
import { sorts } from '../../../core/log/store.ts';
import type { About } from '../../../core/pipeline/door.ts';

const filters = Object.fromEntries(
  filterHelp.map(({ name, placeholder, help, prefix = name }) => [prefix === name ? name : `${prefix}<key>`, `${placeholder}: ${help}`]),
);
const sums = {
  by: `A dimension: ${[...dimensions, ...attemptDimensions, 'meta.<key>', 'field.<name>'].join(', ')}.`,
  format: 'json or csv.',
};

export const about = {
  requests: {
    summary: 'Requests, the newest first',
    query: {
      ...filters,
      sort: `The largest first: ${sorts.join(', ')}.`,
      order: 'asc: the smallest first.',
      limit: '1 to 1000; 50 where absent.',
      cursor: '`next` of the page before.',
    },
    answer: { 'application/json': 'LogPage' },
  },
  export: {
    summary: 'All requests that match the filters, as a file',
    query: { ...filters, format: 'jsonl or csv.', limit: 'The most requests in the file.' },
    answer: { 'application/jsonl': null, 'text/csv': null },
  },
  tail: {
    summary: 'Requests as they end',
    query: filters,
    headers: { 'last-event-id': 'The id of the last event that you have: what ended since comes first. Browsers send it by themselves.' },
    answer: { 'text/event-stream': 'LoggedRequest' },
  },
  request: { summary: 'One request with its texts', answer: { 'application/json': 'LoggedWhole' } },
  stats: {
    summary: 'Sums, whole or by a dimension',
    query: { ...filters, ...sums, limit: 'The most rows in the reply.' },
    answer: { 'application/json': 'LogSums', 'text/csv': null },
  },
  series: {
    summary: 'Sums over time',
    query: { ...filters, ...sums, bucket: 'The length of a step: 1m, 1h.' },
    answer: { 'application/json': 'LogSeries', 'text/csv': null },
  },
  facets: {
    summary: 'The values that requests have, with their counts',
    query: filters,
    answer: { 'application/json': 'LogFacetList' },
  },
  metadataKeys: { summary: 'The names of metadata on record', query: filters, answer: { 'application/json': 'MetadataKeys' } },
  status: { summary: 'What runs, and the state of its log', answer: { 'application/json': 'GatewayStatus' } },
} satisfies Readonly<Record<string, About>>;
