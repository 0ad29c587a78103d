/** Marks figures that are not the provider's own counts: with a sign, with a title, and with a word for screen readers. */
import { html } from './html.js';
import { count, plural, unknown } from './format.js';

/** Why a figure is an estimate, for the middle of a sentence. */
export const whyEstimated = 'an estimate: the provider sent no count of its tokens';

/**
 * A figure, marked where it is an estimate. A dash or a zero is never marked.
 * @param {string} text @param {boolean | undefined} isEstimate @param {string} [title]
 */
export const about = (text, isEstimate, title = whyEstimated) =>
  isEstimate && ![unknown, '0', '$0'].includes(text)
    ? html`<span title=${title}><span class="hidden">estimated </span><span aria-hidden="true">≈</span>${text}</span>`
    : text;

/** Why a cost is the most that it may be. */
export const whyAtMost =
  'the most that it may have cost: the provider may have gone on after the gateway had left, its prices changed meanwhile, or another service tier served it';

/**
 * The cost of a request, marked where it is an upper bound or an estimate.
 * @param {string} text @param {{ costIsUpperBound?: boolean, usageEstimated?: boolean }} record
 */
export const costMark = (text, { costIsUpperBound, usageEstimated }) =>
  costIsUpperBound
    ? html`<span title=${whyAtMost}><span class="hidden">at most </span><span aria-hidden="true">≤</span>${text}</span>`
    : about(text, usageEstimated);

/** From this share of estimated requests on, the estimates in a sum matter. */
const muchOf = 0.01;

/**
 * Whether so many requests of a sum are estimated that the sum may be wrong by more than a little.
 * @param {{ estimated?: number, requests: number }} row
 */
export const isRough = ({ estimated = 0, requests }) => estimated > muchOf * requests;

/** A sum, marked where it contains estimates that matter. @param {string} text @param {boolean | undefined} isRough */
export const aboutPart = (text, isRough) => about(text, isRough, 'holds estimates: a provider sent no count of its tokens');

/**
 * The words to put after a figure whose row contains estimates; else an empty text.
 * @param {{ estimated?: number, requests: number }} row
 */
export const partly = (row) => (isRough(row) ? ', some of it estimated' : '');

/**
 * A sum, marked with the number of its requests that are estimated, where these matter.
 * @param {string} text @param {{ estimated?: number, requests: number }} row
 */
export function aboutSum(text, { estimated = 0, requests }) {
  const why = `${count(estimated)} of ${count(requests)} requests are estimated: their provider sent no count of tokens`;
  return about(text, isRough({ estimated, requests }), why);
}

/**
 * A sentence about the requests that a sum of costs leaves out; empty where it leaves out none.
 * @param {{ unpriced?: number }} row @param {string} [of] which requests these are
 */
export const leftOut = ({ unpriced = 0 }, of = '') =>
  unpriced === 0
    ? ''
    : `${plural(unpriced, 'request')}${of} ${unpriced === 1 ? 'has no price and is' : 'have no price and are'} not in the sums.`;
