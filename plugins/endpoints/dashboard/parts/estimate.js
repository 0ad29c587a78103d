/** A figure that is not the provider's own count: said to the eye, in a title, and aloud. */
import { html } from './html.js';
import { count, unknown } from './format.js';

export const whyEstimated = 'an estimate: the provider sent no count of its tokens';

/** Nothing is nothing, counted or not. @param {string} text @param {boolean | undefined} isEstimate @param {string} [title] */
export const about = (text, isEstimate, title = whyEstimated) => (isEstimate && ![unknown, '0', '$0'].includes(text) ? html`<span title=${title}><span class="hidden">estimated </span><span aria-hidden="true">≈</span>${text}</span>` : text);

/** Of a sum of which no more is known. @param {string} text @param {boolean | undefined} holdsSome */
export const aboutPart = (text, holdsSome) => about(text, holdsSome, 'holds estimates: a provider sent no count of its tokens');

/** The same in words, after a figure. @param {{ estimated?: number }} row */
export const partly = ({ estimated = 0 }) => (estimated > 0 ? ', some of it estimated' : '');

/** Of a sum: which part of its requests is estimated. @param {string} text @param {{ estimated?: number, requests: number }} row */
export const aboutSum = (text, { estimated = 0, requests }) => about(text, estimated > 0, `${count(estimated)} of ${count(requests)} requests are estimated: their provider sent no count of tokens`);
