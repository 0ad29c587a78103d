/**
 * Keys that LiteLLM keeps in its database, from the answer of its `GET
 * /key/list?return_full_object=true`. Callers keep their keys: both programs keep SHA-256 of them.
 */
import type { Draft } from '../draft.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import type { Foreign } from '../foreign.ts';
import { fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { numberOf, textOf, textsOf } from '../foreign.ts';
import { keyAmounts } from './settings.ts';
import { guard } from './without-counterpart.ts';

interface KeySources {
  /** The pages of the answer. */
  readonly pages: readonly Foreign[];
  readonly draft: Draft;
  /** Names of models by `model_info.access_groups`. */
  readonly accessGroups: ReadonlyMap<string, readonly string[]>;
  /** The id of each group's model. */
  readonly ids: ReadonlyMap<string, string>;
}

/** What all pages share. */
interface KeysSoFar extends Omit<KeySources, 'pages'> {
  readonly names: Set<unknown>;
}

const byModel = 'limits count by key or by model, not by both: { by: model, … } under `limits`';
/** Properties of a key that have no counterpart here. LiteLLM keeps some of them in the key's metadata. */
const left: Readonly<Record<string, string>> = {
  aliases: 'an alias is for all callers: `aliases` of the model',
  model_max_budget: byModel,
  model_rpm_limit: byModel,
  model_tpm_limit: byModel,
  allowed_routes: 'a key may use every endpoint for models',
  guardrails: guard,
  router_settings: 'a policy under `routing` is for all callers; `rules` of a policy go by key',
  budget_limits: 'a key has one budget under `limits` here; `limits` of the file take more: { by: key, match: NAME, budget: … }',
};
/** Limits that let nothing through where they are 0; here 0 is no limit. */
const shutAtZero = ['rpm_limit', 'tpm_limit', 'max_parallel_requests'];
const isEmpty = (value: unknown): boolean => Object.keys(Object(value ?? {})).length === 0;

/** LiteLLM's words for all models. They are matched as a whole, because a model may be called all-minilm. */
const everyModel = new Set(['all-proxy-models', 'all-team-models']);

/** No key may have it: the dashboard itself asks under this name. */
const nameOfDashboard = 'dashboard';

const rowsOf = ({ value }: Foreign): readonly Fields[] => listOf(value['keys'] ?? value['data']).map(fieldsOf);

export function writeKeys({ pages, ...more }: KeySources): void {
  const names = new Set([nameOfDashboard, ...more.draft.keys.map(({ value }) => value['name'])]);
  for (const page of pages) writePage(page, { ...more, names });
  const [here, all] = [pages.flatMap(rowsOf).length, Math.max(0, ...pages.map(({ value }) => numberOf(value['total_count']) ?? 0))];
  // safety: callers whose keys are on a page that is not given would lose their access
  if (here < all) {
    more.draft.notes.push({
      line: 0,
      what: pages.map(({ name }) => name).join(', '),
      todo: `LiteLLM has ${all} keys, and ${here} of them are here: ask LiteLLM for the other pages too (page=2), and write the names of all key files after the config`,
    });
  }
}

function writePage(page: Foreign, soFar: KeysSoFar): void {
  const list = page.value['keys'] === undefined ? 'data' : 'keys';
  rowsOf(page).forEach((row, at) => {
    const { line } = page.spotOf([list, at]);
    writeKey(row, soFar, (todo) => void soFar.draft.notes.push({ line, what: `${page.name}: ${nameOf(row)}`, todo }));
  });
}

function writeKey(row: Fields, { draft, accessGroups, ids, names }: KeysSoFar, note: (todo: string) => void): void {
  const token = textOf(row['token']) ?? '';
  if (!/^[0-9a-f]{64}$/.test(token)) return note('left out: it has no `token` with the hash of the key. Ask with return_full_object=true');
  const ends = textOf(row['expires']);
  const expires = ends === null ? null : timeIn(ends);
  if (Number.isNaN(expires?.getTime())) return note('left out: the time in `expires` cannot be read');
  const { amounts, fault } = keyAmounts(row);
  if (fault !== null) note(fault);
  noteLeft(row, note);
  const shut = shutAtZero.filter((name) => numberOf(row[name]) === 0);
  for (const name of shut) note(`${name}: 0 lets nothing through, so the key is disabled here`);
  const models = textsOf(row['models'])
    .filter((model) => !everyModel.has(model))
    .flatMap((model) => accessGroups.get(model) ?? model)
    .map((model) => ids.get(model) ?? model);
  draft.keys.push({
    value: {
      name: freeName(nameOf(row), names),
      hash: `sha256:${token}`,
      ...(models.length > 0 && { models: [...new Set(models)] }),
      ...withMetadata(row),
      ...(Object.keys(amounts).length > 0 && { limits: amounts }),
      ...((row['blocked'] === true || shut.length > 0) && { disabled: true }),
      ...(expires !== null && { expires: expires.toISOString() }),
    },
    remark: '',
  });
}

/** LiteLLM's times are of UTC, also those without a zone, which `Date` takes for times of this machine. */
const timeIn = (text: string): Date => new Date(/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);

function noteLeft(row: Fields, note: (todo: string) => void): void {
  for (const [field, todo] of Object.entries(left)) {
    if (!isEmpty(row[field] ?? fieldsOf(row['metadata'])[field])) note(`${field}: ${todo}`);
  }
  const models = textsOf(row['models']);
  const isOpen = models.length === 0 && textOf(row['team_id']) !== null;
  if (isOpen || models.includes('all-team-models')) note('it may use the models of its team: write them under `models`');
}

/** The name, with a number behind it where another key has it already. */
function freeName(wanted: string, names: Set<unknown>): string {
  let name = wanted;
  for (let count = 2; names.has(name); count += 1) name = `${wanted}-${count}`;
  names.add(name);
  return name;
}

const nameOf = (row: Fields): string => textOf(row['key_alias']) ?? textOf(row['key_name']) ?? 'key';

/** The row's metadata: the team, the user, and other values that are texts. */
function withMetadata(row: Fields): Fields {
  const own = Object.entries(fieldsOf(row['metadata'])).filter(([name, value]) => typeof value === 'string' && /^[\w-]+$/.test(name));
  const metadata = {
    ...Object.fromEntries(own),
    ...(textOf(row['team_id']) !== null && { team: textOf(row['team_id']) }),
    ...(textOf(row['user_id']) !== null && { user: textOf(row['user_id']) }),
  };
  return Object.keys(metadata).length === 0 ? {} : { metadata };
}
