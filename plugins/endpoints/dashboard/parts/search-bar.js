/** The filters as chips that can be removed, and a line to write more of them, which offers words. */
import { html, useRef, useState } from './html.js';
import { ask } from './api.js';
import { Icon } from './icons.js';
import { stepped } from './keyboard.js';
import { go, hrefOf, withParams } from './location.js';
import {
  addFilter,
  apiParams,
  examples,
  fieldInBar,
  filtersOf,
  inBar,
  isFilter,
  isKeyed,
  isKnown,
  names,
  parseBar,
  presets,
  removeFilter,
  wordsOf,
} from './query.js';
import { idAlone, isWholeId } from './record-id.js';

const offeredValues = { ...examples, since: Object.keys(presets) };

/** safety: a field may have the name of a property that every object has, such as `constructor`. */
const own = (lists, field) => (Object.hasOwn(lists, field) ? lists[field] : []);

/** What may come next, for the last word of the text. */
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

/** What is wrong with filters whose names this page does not know. The server knows all names, and suggests the nearest. */
const faultOf = (params) =>
  ask(`/api/facets?${apiParams(params)}`).then(
    () => null,
    ({ status, message }) => (status === 400 ? `${message} To look for it as text, write it in quotes.` : message),
  );

/** @param {{ params: URLSearchParams, facets: Record<string, { value: string, count: number }[]> }} props */
export function SearchBar({ params, facets }) {
  const filters = filtersOf(params);
  const { input, text, fault, offered, at, write, setOpen, take, onKeyDown } = useLine(params, facets);
  return html`<div class="search">
    <${Icon} name="search" />
    ${filters.map((filter) => html`<${Chip} key=${`${filter.not}${filter.field}${filter.value}`} filter=${filter} params=${params} />`)}
    <div class="search-field">
      <input
        ref=${input}
        type="text"
        value=${text}
        spellcheck="false"
        autocomplete="off"
        role="combobox"
        aria-expanded=${offered.length > 0}
        aria-controls="search-words"
        aria-autocomplete="list"
        aria-label="Filter the log"
        aria-activedescendant=${offered[at] === undefined ? undefined : `search-word-${at}`}
        placeholder=${filters.length === 0 ? 'model:… status:error latency:>2s meta.team=…  "text"' : ''}
        onInput=${(event) => write(event.target.value)}
        onFocus=${() => setOpen(true)}
        onBlur=${() => setTimeout(() => setOpen(false), 120)}
        onKeyDown=${onKeyDown}
      />
      <${Words} offered=${offered} at=${at} take=${take} />
    </div>
    ${filters.length === 0 ? html`<kbd class="search-key" aria-hidden="true">/</kbd>` : html`<${ClearAll} params=${params} />`}
  </div>
  <div role="alert">${fault !== '' && html`<p class="search-fault">${fault}</p>`}</div>`;
}

/** The line in which a filter is written: its text, the words that it offers, and what is wrong with it. */
function useLine(params, facets) {
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [fault, setFault] = useState('');
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const word = /\S*$/.exec(text)?.[0] ?? '';
  const offered = isOpen ? suggestions(word, facets) : [];

  const write = (written) => {
    setText(written);
    setOpen(true);
    setAt(-1);
    setFault('');
  };
  const apply = (written) => {
    const id = idAlone(written);
    const next = parseBar(written).reduce(addFilter, params);
    setOpen(false);
    if (Array.from(next.keys()).some((name) => isFilter(name) && !isKnown(name))) {
      setText(written);
      // the reader may have written something else when the server answers
      void faultOf(next).then((found) => found !== null && input.current?.value === written && setFault(found));
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
    const last = filtersOf(params).at(-1);
    if (event.key === 'Enter' && offered[at] === undefined) apply(text);
    else if (event.key === 'Enter') take(offered[at]);
    else if (event.key === 'Escape' && offered.length > 0) setOpen(false);
    else if (event.key === 'Escape') document.getElementById('main')?.focus({ preventScroll: true });
    else if (event.key === 'Backspace' && text === '' && last !== undefined) go(hrefOf(location.pathname, removeFilter(params, last)));
    else if (step !== undefined && offered.length > 0) {
      event.preventDefault();
      setAt((before) => stepped(before, step, offered.length));
    }
  };
  return { input, text, fault, offered, at, write, setOpen, take, onKeyDown };
}

function Words({ offered, at, take }) {
  // a click must not take the focus away from the line
  const press = (event, choice) => {
    event.preventDefault();
    take(choice);
  };
  const wordOf = (choice, index) =>
    html`<li
      key=${choice}
      id=${`search-word-${index}`}
      role="option"
      aria-selected=${index === at}
      onMouseDown=${(event) => press(event, choice)}
    >${choice}</li>`;
  const isHidden = offered.length === 0;
  return html`<ul class="search-words" id="search-words" role="listbox" aria-label="Words that may come next" hidden=${isHidden}>
    ${offered.map(wordOf)}
  </ul>`;
}

const ClearAll = ({ params }) => html`<a class="link" href=${hrefOf(location.pathname, withoutFilters(params))}>Clear all</a>`;

/** The address of a request by its whole id: the panel beside the list on Logs, else the page of the request. @param {string | null} id */
const requestHref = (id) => (location.pathname === '/dashboard/logs' ? withParams({ log: id }) : `/dashboard/logs/${id}`);

function withoutFilters(params) {
  const next = new URLSearchParams(params);
  for (const name of Array.from(next.keys())) if (isFilter(name)) next.delete(name);
  return next;
}

function Chip({ filter, params }) {
  const [name, value] = wordsOf(filter);
  return html`<span class="chip ${filter.not ? 'chip-not' : ''}">
    ${filter.not && html`<span>not</span>`}<span class="chip-name">${name}</span><b>${value}</b>
    <a
      href=${hrefOf(location.pathname, removeFilter(params, filter))}
      aria-label=${`Remove the filter ${name} ${value}`}
    ><${Icon} name="close" /></a>
  </span>`;
}
