/** The filters as chips that can be removed, and a line to write more of them, which offers words. */
import { html, useRef, useState } from './html.js';
import { ask } from './api.js';
import { Icon } from './icons.js';
import { go, hrefOf, withParams } from './location.js';
import {
  addFilter,
  apiParams,
  examples,
  fieldInBar,
  filtersOf,
  idAlone,
  inBar,
  isFilter,
  isKeyed,
  isKnown,
  isWholeId,
  names,
  parseBar,
  presets,
  removeFilter,
  wordsOf,
} from './query.js';

const offeredValues = { ...examples, since: Object.keys(presets) };

/** safety: a field may have the name of a property that every object has, such as `constructor`. */
const own = (lists, field) => (Object.hasOwn(lists, field) ? lists[field] : []);

/** What may come next, for the word under the cursor. */
function suggestions(word, facets) {
  const [, minus = '', field, typed] = /^(-?)((?:meta|field)\.[^\s=:]+|[a-z.]+)[:=](.*)$/.exec(word) ?? [];
  if (field !== undefined) {
    const separator = isKeyed(field) ? '=' : ':';
    const seen = own(facets, field).map(({ value }) => value);
    const values = [...new Set([...own(offeredValues, field), ...seen])].filter(
      (value) => value !== '' && value.toLowerCase().includes((typed ?? '').replace(/^"/, '').toLowerCase()),
    );
    return values.slice(0, 8).map((value) => `${minus}${field}${separator}${inBar(value)}`);
  }
  const bare = word.replace(/^-/, '');
  const known = [
    ...names.map((name) => `${name}:`),
    ...Object.keys(facets)
      .filter(isKeyed)
      .map((name) => `${fieldInBar(name)}=`),
  ];
  return known
    .filter((name) => name.includes(bare))
    .slice(0, 12)
    .map((name) => (word.startsWith('-') ? `-${name}` : name));
}

/** @param {{ params: URLSearchParams, facets: Record<string, { value: string, count: number }[]> }} props */
export function SearchBar({ params, facets }) {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [fault, setFault] = useState('');
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const filters = filtersOf(params);
  const word = /\S*$/.exec(text)?.[0] ?? '';
  const offered = isOpen ? suggestions(word, facets) : [];

  const apply = (written) => {
    const id = idAlone(written);
    const next = parseBar(written).reduce(addFilter, params);
    setOpen(false);
    if (Array.from(next.keys()).some((name) => isFilter(name) && !isKnown(name))) {
      setText(written);
      // the server knows all names, and which of them is near; the reader may have written something else when it answers
      ask(`/api/facets?${apiParams(next)}`).catch(
        ({ status, message }) =>
          input.current?.value === written && setFault(status === 400 ? `${message} To look for it as text, write it in quotes.` : message),
      );
      return;
    }
    go(isWholeId(id) ? requestHref(id) : hrefOf(location.pathname, next));
    setText('');
    setFault('');
  };
  const take = (choice) => {
    const written = text.slice(0, text.length - word.length) + choice;
    setAt(-1);
    if (/[:=]$/.test(choice)) setText(written);
    else apply(written);
    input.current?.focus();
  };
  const onKeyDown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const last = filters.at(-1);
    if (event.key === 'Enter' && offered[at] === undefined) apply(text);
    else if (event.key === 'Enter') take(offered[at]);
    else if (event.key === 'Escape' && offered.length > 0) setOpen(false);
    else if (event.key === 'Escape') document.getElementById('main')?.focus({ preventScroll: true });
    else if (event.key === 'Backspace' && text === '' && last !== undefined) go(hrefOf(location.pathname, removeFilter(params, last)));
    else if (step !== undefined && offered.length > 0) {
      event.preventDefault();
      setAt((before) => (before + step + offered.length) % offered.length);
    }
  };
  return html`<div class="search">
    <${Icon} name="search" />
    ${filters.map((filter) => html`<${Chip} key=${`${filter.not}${filter.field}${filter.value}`} filter=${filter} params=${params} />`)}
    <div class="search-field">
      <input ref=${input} type="text" value=${text} spellcheck="false" autocomplete="off" role="combobox" aria-expanded=${offered.length > 0} aria-controls="search-words" aria-autocomplete="list" aria-label="Filter the log"
        aria-activedescendant=${offered[at] === undefined ? undefined : `search-word-${at}`} placeholder=${filters.length === 0 ? 'model:… status:error latency:>2s meta.team=…  "text"' : ''}
        onInput=${(event) => {
          setText(event.target.value);
          setOpen(true);
          setAt(-1);
          setFault('');
        }} onFocus=${() => setOpen(true)} onBlur=${() => setTimeout(() => setOpen(false), 120)} onKeyDown=${onKeyDown} />
      <ul class="search-words" id="search-words" role="listbox" aria-label="Words that may come next" hidden=${offered.length === 0}>
        ${offered.map(
          (choice, index) =>
            html`<li key=${choice} id=${`search-word-${index}`} role="option" aria-selected=${index === at} onMouseDown=${(event) => {
              event.preventDefault();
              take(choice);
            }}>${choice}</li>`,
        )}
      </ul>
    </div>
    ${filters.length === 0 ? html`<kbd class="search-key" aria-hidden="true">/</kbd>` : html`<a class="link" href=${hrefOf(location.pathname, withoutFilters(params))}>Clear all</a>`}
  </div>
  <div role="alert">${fault !== '' && html`<p class="search-fault">${fault}</p>`}</div>`;
}

/** A request whose whole id is known: beside the list, or beside the list of the same filters. @param {string | null} id */
const requestHref = (id) => (location.pathname === '/dashboard/logs' ? withParams({ log: id }) : `/dashboard/logs/${id}`);

function withoutFilters(params) {
  const next = new URLSearchParams(params);
  for (const name of Array.from(next.keys())) if (isFilter(name)) next.delete(name);
  return next;
}

function Chip({ filter, params }) {
  const [name, value] = wordsOf(filter);
  return html`<span class="chip ${filter.not ? 'chip-not' : ''}">${filter.not && html`<span>not</span>`}<span class="chip-name">${name}</span><b>${value}</b>
    <a href=${hrefOf(location.pathname, removeFilter(params, filter))} aria-label=${`Remove the filter ${name} ${value}`}><${Icon} name="close" /></a></span>`;
}
