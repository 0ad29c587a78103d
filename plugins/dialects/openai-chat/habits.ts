/** What vendors of the chat API differ in, as data. `presets.ts` has the rows, `encode.ts` and `decode.ts` read them. */
import type { Effort } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import type { UsageHabits } from './usage.ts';

/** Fields of a request body. */
export type Fragment = Readonly<Record<string, unknown>>;

/** How an effort is said: the vendor's word, which equals the caller's where nothing is lost, and what goes into the body. */
export interface Said {
  readonly word: string;
  readonly fields: Fragment;
}

/** Per effort; null: it cannot be said and is left out. */
export type Efforts = Readonly<Record<Effort, Said | null>>;

/** Where a thinking budget goes, and what must stand beside it. */
export interface Budget {
  readonly path: readonly [field: string, inner?: string];
  readonly beside: Fragment;
  readonly least?: number;
}

/** The field in which earlier reasoning goes back. `blank`: what goes out for an answer that had none. */
export interface Replay {
  readonly field: 'reasoning' | 'reasoning_content' | 'reasoning_details';
  readonly blank?: string;
}

/** Ways of one family of models. */
export interface Habits {
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** What system and developer messages become: `leading-developer` and `leading-user` change those before the first turn. */
  readonly instructions: 'system' | 'as-sent' | 'leading-developer' | 'leading-user';
  readonly efforts: Efforts;
  readonly budget: Budget | null;
  readonly replay: Replay | null;
  /** Parameters that it refuses, by their names on the wire. */
  readonly drops: readonly string[];
  /** Of `drops`, those that it takes after all while the effort is `none`. */
  readonly takesUnthinking: readonly string[];
  /** Fields that it needs; the caller's own win. */
  readonly adds: Fragment;
  /** Thinking comes in a leading `<think>` block. */
  readonly thinkTags: boolean;
}

export interface Family extends Partial<Habits> {
  /** Matched against the model's name at the vendor, in lower case. */
  readonly match: RegExp;
}

/** A vendor, or a server that many run. Only what differs from `standard` is said. */
export interface Vendor extends Partial<Habits> {
  readonly name: string;
  readonly baseUrl: string | null;
  readonly keyless?: boolean;
  readonly keyHeader?: 'api-key';
  /** Query parameters, by the provider setting that holds them. */
  readonly query?: Readonly<Record<string, string>>;
  /** Model names are the operator's own, so that the family shows only in the catalogue's id. */
  readonly namesDeployments?: boolean;
  /** Usage of a stream comes unasked, and asking may be refused. */
  readonly refusesStreamOptions?: boolean;
  /** Other names of parameters. */
  readonly renames?: Readonly<Record<string, string>>;
  /** Its word for `tool_choice: required`. */
  readonly requiredWord?: string;
  /** `logprobs` is a number. */
  readonly countsLogprobs?: boolean;
  /** Fields of messages and content parts that it refuses. */
  readonly messageDrops?: readonly string[];
  /** Messages whose content must be a string where it is only text. */
  readonly plainText?: 'system' | 'all';
  /** Tool call ids must be nine letters or digits. */
  readonly nineCharacterIds?: boolean;
  /** Fields of tool schemas that it stumbles over. */
  readonly schemaDrops?: readonly string[];
  /** Its `reasoning` knows more than an effort and a budget (`exclude`, `enabled`): what the caller put there goes out. */
  readonly takesReasoningFields?: boolean;
  readonly usage?: UsageHabits;
  /** The first that matches counts. */
  readonly families?: readonly Family[];
}

const word = (effort: string): Said => ({ word: effort, fields: { reasoning_effort: effort } });

/** Efforts as `reasoning_effort`, in the order none, minimal, low, medium, high, xhigh. */
export function saidAs(...words: readonly (string | Said | null)[]): Efforts {
  const [none, minimal, low, medium, high, xhigh] = words.map((said) => (typeof said === 'string' ? word(said) : (said ?? null)));
  return { none: none ?? null, minimal: minimal ?? null, low: low ?? null, medium: medium ?? null, high: high ?? null, xhigh: xhigh ?? null };
}

/** What holds where a row says nothing: a server that speaks the API as it was before reasoning models. */
const standard: Habits = {
  maxTokens: 'max_tokens',
  instructions: 'system',
  efforts: saidAs('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
  budget: null,
  replay: null,
  drops: [],
  takesUnthinking: [],
  adds: {},
  thinkTags: false,
};

// cost: the same for every request to one mapping of one vendor, and a match of all families each time
const known = new WeakMap<Vendor, WeakMap<Target['mapping'], Habits>>();

/** The habits that hold for one target: its family's over the vendor's over the standard. Parameters refused by either are refused. */
export function habitsOf(vendor: Vendor, target: Target): Habits {
  const ofVendor = known.get(vendor) ?? new WeakMap<Target['mapping'], Habits>();
  known.set(vendor, ofVendor);
  const habits = ofVendor.get(target.mapping) ?? findHabits(vendor, target);
  ofVendor.set(target.mapping, habits);
  return habits;
}

function findHabits(vendor: Vendor, target: Target): Habits {
  const names = vendor.namesDeployments === true ? [target.mapping.externalId, target.model.id] : [target.mapping.externalId];
  const family = vendor.families?.find(({ match }) => names.some((name) => match.test(name.toLowerCase())));
  const drops = [...(vendor.drops ?? []), ...(family?.drops ?? [])];
  return { ...standard, ...vendor, ...family, drops };
}
