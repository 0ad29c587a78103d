/**
 * What the log can be filtered and summed up by: fields of the table in `fields.ts`, values that are computed from a record's attempts,
 * metadata, and fields of plugins. The filter grammar, the live tail, both stores, the command line and the dashboard read it.
 */
import { attemptValues, isRescued } from './attempts.ts';
import type { AttemptDimension } from './attempts.ts';
import { flag, recordFields } from './fields.ts';
import type { FieldFilter, RecordField } from './fields.ts';
import type { LoggedRequest } from './store.ts';

/** A filter: a field of the record, or a value that is computed from several fields. */
export interface FilteredField extends Omit<RecordField, 'name'> {
  readonly name: string;
  readonly filter: FieldFilter;
  /** Present where the kind of the filter is `any`. */
  readonly attempt?: AttemptDimension;
}

const ofAttempt = (
  attempt: AttemptDimension,
  { label, ...filter }: Omit<FieldFilter, 'kind'> & { readonly label: string },
): FilteredField => ({
  name: filter.name,
  kind: 'text',
  label,
  path: 'attempts',
  column: null,
  asked: null,
  attempt,
  filter: { ...filter, kind: 'any' },
  read: ({ attempts }) => [...new Set(attempts.map(attemptValues[attempt]))],
});

/** Values that are computed from a record's attempts. */
const derived: readonly FilteredField[] = [
  ofAttempt('attempt.provider', {
    name: 'tried',
    label: 'Tried',
    placeholder: 'ID',
    help: 'a provider that was asked, whether it answered or not',
  }),
  ofAttempt('attempt.model', {
    name: 'attempt.model',
    label: 'Model tried',
    placeholder: 'ID',
    help: 'a model that was asked, whether it answered or not',
  }),
  ofAttempt('attempt.code', {
    name: 'attempt.code',
    label: 'Outcome of an attempt',
    placeholder: 'CODE',
    help: 'answered, outrun, or the error code of an attempt',
  }),
  ofAttempt('attempt.target', {
    name: 'attempt.target',
    label: 'Target tried',
    placeholder: 'NAME',
    help: 'a provider, or one of its keys, with the name of the model there',
  }),
  {
    name: 'rescued',
    kind: 'flag',
    label: 'Rescued',
    path: 'attempts',
    column: null,
    asked: 'rescued',
    otherwise: false,
    filter: flag('rescued', { help: 'whether it was answered after an attempt had failed' }),
    read: isRescued,
  },
];

export const filteredFields: readonly FilteredField[] = [
  ...recordFields.filter((field): field is RecordField & FilteredField => field.filter !== undefined),
  ...derived,
];

const byFilter: ReadonlyMap<string, FilteredField> = new Map(filteredFields.map((field) => [field.filter.name, field]));

/** The field that a filter of this name asks about. */
export const filteredField = (filter: string): FilteredField | undefined => byFilter.get(filter);

/** Names of filters by which requests can be summed up. */
export const dimensions: readonly string[] = filteredFields.filter(({ filter }) => filter.isDimension).map(({ filter }) => filter.name);

/** What attempts can be summed up by. */
export const attemptDimensions = Object.keys(attemptValues) as readonly AttemptDimension[];
export const isOfAttempts = (dimension: string | null): dimension is AttemptDimension =>
  (attemptDimensions as readonly (string | null)[]).includes(dimension);

export const facetFields: readonly FilteredField[] = filteredFields.filter(({ filter }) => filter.isFacet);

/** A value that a record holds under a name of its own: `meta.<key>` of the caller, or `field.<name>` of a plugin. */
export interface Keyed {
  /** The part of the record that holds it. */
  readonly part: 'metadata' | 'fields';
  readonly key: string;
}

/** What the filters of each part begin with. */
export const prefixes: Readonly<Record<Keyed['part'], string>> = { metadata: 'meta.', fields: 'field.' };

/** Names of plugin fields that can be filtered by. A store writes such a name into a JSON path. */
export const plainName = /^[\w.-]{1,64}$/;

/** What a filter or a dimension named `meta.<key>` or `field.<name>` is about; null for every other name. */
export function keyedOf(name: string): Keyed | null {
  if (name.startsWith(prefixes.metadata) && name.length > prefixes.metadata.length) {
    return { part: 'metadata', key: name.slice(prefixes.metadata.length) };
  }
  const key = name.startsWith(prefixes.fields) ? name.slice(prefixes.fields.length) : '';
  return plainName.test(key) ? { part: 'fields', key } : null;
}

/** The name of a filter or dimension as people write it. Metadata has lower-case names, so `meta.Tenant-ID` is `meta.tenant-id`. */
export const nameAsWritten = (name: string): string => (name.startsWith(prefixes.metadata) ? name.toLowerCase() : name);

/** The name of the filter or dimension of such a value: `meta.tenant-id`. */
export const keyedName = ({ part, key }: Keyed): string => prefixes[part] + key;

export const isKeyed = (name: string): boolean => keyedOf(name) !== null;

function keyedValue(record: LoggedRequest, { part, key }: Keyed): unknown {
  const values: Readonly<Record<string, unknown>> = record[part];
  return Object.hasOwn(values, key) ? values[key] : null;
}

/** The value of the filter or dimension of this name in a record; null where the record has none. */
export function filteredValue(record: LoggedRequest, name: string): unknown {
  const keyed = keyedOf(name);
  return (keyed === null ? filteredField(name)?.read(record) : keyedValue(record, keyed)) ?? null;
}

/** The value as text, which filters compare and sums show; null where the record has none. */
export function filteredText(record: LoggedRequest, name: string): string | null {
  const found = filteredValue(record, name);
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? String(found) : null;
}

/** Filters that are about no field: the time, and the text in bodies. */
export const timeFilters = ['since', 'from', 'to'] as const;
export const textFilter = 'q';

interface FilterHelp {
  readonly name: string;
  /** The placeholder of the value: `ID`. */
  readonly placeholder: string;
  readonly help: string;
  /** What comes before the key in the grammar, if the value of the flag is `KEY=VAL`. */
  readonly prefix?: string;
}

/** Every filter as a flag of the command line. */
export const filterHelp: readonly FilterHelp[] = [
  { name: 'since', placeholder: 'SPAN', help: '15m, 24h, 7d: not older than that' },
  { name: 'from', placeholder: 'TIME', help: '2026-03-01 or 2026-03-01T14:30:00Z' },
  { name: 'to', placeholder: 'TIME', help: 'before this time' },
  ...filteredFields.map(({ filter: { name, placeholder, help, words = [] } }) => ({ name, placeholder, help: help ?? words.join(', ') })),
  { name: 'meta', placeholder: 'KEY=VAL', help: 'metadata, for example --meta tenant-id=acme', prefix: prefixes.metadata },
  { name: 'field', placeholder: 'KEY=VAL', help: "a plugin's field, for example --field 'score=>3'", prefix: prefixes.fields },
  { name: textFilter, placeholder: 'TEXT', help: 'text in stored bodies' },
];

/** What can be summed up by, in words. */
export const dimensionWords = `${[...dimensions, ...attemptDimensions].join(', ')}, meta.<key> or field.<name>`;

/** The table as the dashboard needs it, in JSON: see `parts/fields.js` there. */
export const pageFields = [...recordFields, ...derived]
  .filter(({ filter, listed }) => filter !== undefined || listed !== undefined)
  .map(({ path, kind, label, listed, isCounted, unknownAt, filter }) => ({
    path,
    kind,
    label,
    listed,
    isCounted,
    unknownAt,
    filter: filter?.name,
    asks: filter?.kind,
    examples: filter?.examples ?? filter?.words,
    isDimension: filter?.isDimension,
    isFacet: filter?.isFacet,
  }));
