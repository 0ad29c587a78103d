/** The cost of a request: each kind of tokens with its count, its price and its cost. */
import { html } from './html.js';
import { about, costMark, whyAtMost, whyEstimated } from './estimate.js';
import { count, money, perMillion, unknown } from './format.js';

const rest = (all, ...parts) => (all === null ? null : all - parts.reduce((sum, part) => sum + (part ?? 0), 0));

/** The kinds of tokens, without overlap. Input and answer are always listed, the others only where their count is not 0. */
function linesOf({ usage, usageDetails }, prices) {
  const { promptTokens, completionTokens, reasoningTokens, cachedTokens, cacheWriteTokens } = usage;
  const hourTokens = Math.min(usageDetails?.cacheWrite1h ?? 0, cacheWriteTokens ?? 0);
  const {
    prompt,
    completion,
    input_cache_read: read = prompt,
    input_cache_write: write = prompt,
    input_cache_write_1h: hourWrite = write,
    internal_reasoning: thought = completion,
  } = prices ?? {};
  return [
    ['Input', rest(promptTokens, cachedTokens, cacheWriteTokens), prompt],
    ['Input from cache', cachedTokens, read],
    ['Input into cache', rest(cacheWriteTokens, hourTokens), write],
    ['Input into cache for an hour', hourTokens, hourWrite],
    ['Reasoning', reasoningTokens, thought],
    ['Answer', rest(completionTokens, reasoningTokens), completion],
  ].filter(([name, tokens]) => tokens !== 0 || name === 'Input' || name === 'Answer');
}

/** Attempts that used tokens and whose answers the caller did not get. */
const lostOf = ({ attempts }) => attempts.filter(({ used }) => used !== undefined);

/**
 * Whether no provider answered and no attempt used tokens. The sums do not count such a request as one without a price.
 * @param {any} record
 */
export const isUnanswered = (record) =>
  record.cost === null && (record.outcome === 'failed' || record.outcome === 'refused') && lostOf(record).length === 0;

/** @param {{ data: any }} props */
export function CostLines({ data }) {
  const { record } = data;
  const { usage, usageEstimated } = record;
  // older records have no prices; the present config may have them
  const prices = record.prices ?? data.prices;
  const lines = linesOf(record, prices);
  const most = Math.max(1, ...lines.map(([, tokens]) => tokens ?? 0));
  const whole = record.cost === null ? undefined : `$${record.cost}`;
  const figure = (text) => about(text, usageEstimated);
  return html`<table class="table cost-table">
      <thead><tr>
        <th scope="col">Tokens</th><th scope="col" class="num">Count</th>
        <th scope="col" class="cell-bar"><span class="hidden">Share</span></th>
        <th scope="col" class="num">Per million</th><th scope="col" class="num">Cost</th>
      </tr></thead>
      <tbody>
        ${lines.map(
          ([name, tokens, price]) => html`<tr key=${name}>
            <th scope="row">${name}</th><td class="num">${figure(count(tokens))}</td>
            <td class="cell-bar"><i style=${`width:${(100 * (tokens ?? 0)) / most}%`} /></td>
            <td class="num">${perMillion(price)}</td>
            <td class="num">${tokens === null || price === undefined ? unknown : figure(money(tokens * Number(price)))}</td>
          </tr>`,
        )}
        <${Searches} many=${record.usageDetails?.webSearches} price=${prices?.web_search} />
        ${Number(prices?.request) > 0 && html`<${Extra} name="The request itself" cost=${money(prices.request)} />`}
        ${lostOf(record).map((attempt) => html`<${Lost} attempt=${attempt} />`)}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">Total</th><td class="num">${figure(count(usage.totalTokens))}</td><td class="cell-bar" />
          <td /><td class="num" title=${whole}><b>${costMark(money(record.cost), record)}</b></td>
        </tr>
        <${OwnFigure} cost=${record.providerCost} />
      </tfoot>
    </table>
    <p class="soft">${noteOf(data, prices)}</p>`;
}

/** A row for what is not counted in tokens. */
const Extra = ({ name, many, cost, title }) =>
  html`<tr>
    <th scope="row">${name}</th><td class="num">${many}</td><td class="cell-bar" /><td />
    <td class="num" title=${title}>${cost}</td>
  </tr>`;

function Searches({ many, price }) {
  if (!(many > 0)) return null;
  const cost = price === undefined ? unknown : money(many * Number(price));
  return html`<${Extra} name="Searches of the web" many=${count(many)} cost=${cost} />`;
}

const OwnFigure = ({ cost }) =>
  cost === null || cost === undefined ? null : html`<${Extra} name="The provider's own figure" cost=${money(cost)} title=${`$${cost}`} />`;

const Lost = ({ attempt: { provider, outcome, used } }) =>
  html`<tr>
    <th scope="row" title=${`This attempt gave no answer (${outcome}), but its tokens have a cost`}>Lost attempt at ${provider}</th>
    <td class="num">${about(count(used.usage.totalTokens), used.usageEstimated)}</td><td class="cell-bar" /><td />
    <td class="num">${used.cost === null ? unknown : costMark(money(used.cost), used)}</td>
  </tr>`;

function noteOf({ record, isSameConfig }, prices) {
  if (record.model === null) return 'Nothing was served, so nothing was priced.';
  if (isUnanswered(record)) return 'No provider answered, so nothing was priced.';
  if (prices === null) return 'The catalogue has no price for this model now; the total is what was recorded.';
  if (record.cost === null) {
    return 'The cost is not known: no price in the catalogue, the provider left out a token count, or the request used something that is priced separately.';
  }
  if (record.costIsUpperBound) return `The cost is ${whyAtMost}.`;
  if (record.usageEstimated) return `The counts are ${whyEstimated}. The prices are those of that moment.`;
  return record.prices || isSameConfig
    ? 'With the prices of the config that served this request. Where a count is missing, its tokens are part of another line.'
    : 'The config has changed since: the total is what was recorded then, the prices are those of now.';
}
