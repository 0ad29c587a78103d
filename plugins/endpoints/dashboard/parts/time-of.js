/** Every page links to others about the same time, so this file is not part of `query.js`, which not every page loads. */
import { timeFilters } from './fields.js';

/** The parameters of an address that say its time, for a link to another page about the same time. @param {URLSearchParams} params */
export const timeOf = (params) => new URLSearchParams([...params].filter(([name]) => timeFilters.includes(name)));
