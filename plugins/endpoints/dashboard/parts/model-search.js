/** Finds models by words: a part of a name, what a model can do, or a bound of its price or size. */

const perMillion = (text) => (text === undefined || text === null ? null : Number(text) * 1e6);

/** What a provider can do with a model. @type {Record<string, (mapping: any, model: any) => boolean>} */
const abilities = {
  reasoning: ({ reasons }) => reasons,
  tools: ({ tools }) => tools,
  vision: ({ vision }) => vision,
  audio: (_, { input }) => input.includes('audio'),
  structured: (_, { structuredOutputs }) => structuredOutputs,
  free: ({ pricing }) => Number(pricing.prompt) === 0 && Number(pricing.completion) === 0,
};

/**
 * The values that can have a bound: prices in dollars per million tokens, sizes in tokens. `price` is the higher one of input and output.
 * @type {Record<string, (mapping: any, model: any) => number | null>}
 */
const bounded = {
  price: ({ pricing }) =>
    pricing.prompt === undefined || pricing.completion === undefined
      ? null
      : Math.max(perMillion(pricing.prompt), perMillion(pricing.completion)),
  input: ({ pricing }) => perMillion(pricing.prompt),
  output: ({ pricing }) => perMillion(pricing.completion),
  cached: ({ pricing }) => perMillion(pricing.input_cache_read),
  context: (_, { contextLength }) => contextLength || null,
  longest: (_, { maxOutputTokens }) => maxOutputTokens,
};

const comparisons = { '<': (a, b) => a < b, '<=': (a, b) => a <= b, '>': (a, b) => a > b, '>=': (a, b) => a >= b };
const units = { k: 1000, m: 1_000_000 };

/** Words that the page offers. */
export const offered = ['reasoning', 'tools', 'vision', 'audio', 'structured', 'price<1', 'price<5', 'context>200k'];
export const boundNames = Object.keys(bounded);

/** The words of a text. @param {string} text */
export const wordsIn = (text) =>
  text
    .toLowerCase()
    .replace(/\s*([<>]=?)\s*\$?/g, '$1')
    .split(/\s+/)
    .filter(Boolean);

/** The text with a word more, or without it. @param {string} text @param {string} word */
export const toggled = (text, word) =>
  (wordsIn(text).includes(word) ? wordsIn(text).filter((one) => one !== word) : [...wordsIn(text), word]).join(' ');

/** A test of one word; null where it is a bound of an unknown value. @param {string} word */
function testOf(word) {
  const [, name = '', sign = '', number, unit = ''] = /^([a-z]+)([<>]=?)([\d.]+)([km]?)$/.exec(word) ?? [];
  if (number !== undefined) {
    const of = Object.hasOwn(bounded, name) ? bounded[name] : null;
    const bound = Number(number) * (units[/** @type {keyof typeof units} */ (unit)] ?? 1);
    return (
      of && {
        of: (mapping, model) => {
          const value = of(mapping, model);
          return value !== null && comparisons[/** @type {keyof typeof comparisons} */ (sign)](value, bound);
        },
      }
    );
  }
  if (/[<>]/.test(word)) return null;
  if (Object.hasOwn(abilities, word)) return { of: abilities[word] };
  return {
    of: ({ providerId }, { id, name: title, family, aliases }) =>
      `${id} ${title} ${family} ${aliases.join(' ')} ${providerId}`.toLowerCase().includes(word),
  };
}

/**
 * A test of a model: one of its providers has all that the words ask for. `unknown`: words that cannot be tested.
 * @param {string} text @param {(providerId: string) => boolean} isAsked whether this provider counts
 */
export function searchOf(text, isAsked) {
  const words = wordsIn(text).map((word) => ({ word, test: testOf(word) }));
  return {
    unknown: words.filter(({ test }) => test === null).map(({ word }) => word),
    fits: (model) =>
      model.providers.some((mapping) => isAsked(mapping.providerId) && words.every(({ test }) => test !== null && test.of(mapping, model))),
  };
}
