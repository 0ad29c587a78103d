/**
 * How vendors of the chat completions API differ, as data. `presets.ts`
 * has a row for each vendor; `encode.ts` and `decode.ts` read the rows.
 */
import type { Effort } from '../../../core/chat.ts';
import type { Identity, Target } from '../../../core/wire/dialect.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { thinksAlways } from '../families/thinkers.ts';
import type { UsageHabits } from './usage.ts';

/**
 * How an effort is sent to a vendor. `word` is for the adjustment, and is
 * the caller's own word if nothing changes; `fields` go into the body.
 */
export interface Said {
  readonly word: string;
  readonly fields: Fields;
}

/** How each effort is sent. Null: the vendor does not take it, and the effort is dropped. */
export type Efforts = Readonly<Record<Effort, Said | null>>;

/** The field for a thinking budget, the fields that must be sent with it, and the least number of tokens. */
export interface Budget {
  readonly path: readonly [field: string, inner?: string];
  readonly beside: Fields;
  readonly least?: number;
}

/**
 * The field in which earlier reasoning is sent back. `blank` is sent for an
 * answer that had none, `blankWithCalls` only where that answer calls tools.
 */
export interface Replay {
  readonly field: 'reasoning' | 'reasoning_content' | 'reasoning_details';
  readonly blank?: string;
  readonly blankWithCalls?: string;
}

/** What may differ between the families of models of one vendor. */
export interface Habits {
  /** The name of the parameter that limits the answer. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  /**
   * The role of system and developer messages. `leading-developer` and `leading-user` change only those before
   * the first turn. `first`: there is one system message, at the beginning, and later ones are the user's.
   */
  readonly instructions: 'system' | 'as-sent' | 'leading-developer' | 'leading-user' | 'first';
  readonly efforts: Efforts;
  /** Null: it takes no budget. */
  readonly budget: Budget | null;
  /** Null: earlier reasoning is not sent back. */
  readonly replay: Replay | null;
  /** Parameters that it refuses, by their names in chat completions. They are dropped and noted. */
  readonly drops: readonly string[];
  /** The parameters of `drops` that it takes while the effort is `none`. */
  readonly takesUnthinking: readonly string[];
  /** True if the effort of the model is `none` where the request names no effort. */
  readonly restsUnasked?: true;
  /**
   * Parameters that it refuses, changes or uses up while it thinks. Where the caller sent one of
   * them, an effort that the gateway chose is left out. `tool_choice` counts where it forces a tool.
   */
  readonly spares: readonly string[];
  /**
   * True if it thinks without being asked, and refuses a forced tool then: a tool that the caller forces is more important than thinking
   * that the caller did not ask for. Where the caller asked for thinking, or thinking cannot be turned off, the tool is not forced.
   */
  readonly stopsForTool?: true;
  /** True if `tool_choice` is a word only: no tool can be forced by its name. */
  readonly namesNoTool?: true;
  /** True if the results of tools must be followed by the assistant: a message `…` of the assistant is put before the user's. */
  readonly answersResults?: true;
  /** Fields that every request needs. A field that the caller set stays. */
  readonly adds: Fields;
  /** True if thinking comes in a `<think>` block at the start of the answer. */
  readonly thinkTags: boolean;
  readonly usage: UsageHabits;
}

/** A family of models of one vendor: only what differs from the vendor's row. */
export interface Family extends Partial<Habits> {
  /** Is matched with the model's name at the vendor, in lower case. */
  readonly match: RegExp;
}

/** A vendor, or a server software. A row has only what differs from `standard`. */
export interface Vendor extends Partial<Habits> {
  /** The name of the dialect. */
  readonly name: string;
  /** Null: the provider entry must have a `base_url`. */
  readonly baseUrl: string | null;
  /** True if it works without an API key. */
  readonly keyless?: boolean;
  /** The header of the key, if it is not `authorization: Bearer`. */
  readonly keyHeader?: 'api-key';
  /** The identities of the machine that it takes instead of a key; their credentials are a bearer token. */
  readonly identities?: Readonly<Record<string, Identity>>;
  /** Query parameters: the name of each, and the provider setting with its value. */
  readonly query?: Readonly<Record<string, string>>;
  /** True if operators choose the names of models. The family is then found by the id in the catalogue too. */
  readonly namesDeployments?: boolean;
  /** True if a stream has usage without `stream_options`, which may be refused. */
  readonly refusesStreamOptions?: boolean;
  /** Its own names of parameters. */
  readonly renames?: Readonly<Record<string, string>>;
  /** Its word for `tool_choice: required`. */
  readonly requiredWord?: string;
  /**
   * The highest token limit that it takes for an answer without streaming. With a higher
   * limit the gateway asks it for a stream, and the caller still gets a plain answer.
   */
  readonly longestPlain?: number;
  /** The highest temperature that it takes, where that is less than 2. */
  readonly hottest?: number;
  /**
   * The most stop sequences that it takes. A request with more is refused before it is sent, so that another provider may be asked.
   * wire: OpenAI answers 400 "Expected an array with maximum length 4" (QwenLM/Qwen-Agent#228, 2024-06)
   */
  readonly mostStops?: number;
  /** True if it gives JSON by a schema alone, and refuses `json_object`. */
  readonly takesSchemasOnly?: boolean;
  /** True if it gives JSON, but not by a schema. */
  readonly takesNoSchemas?: boolean;
  /** True if `logprobs` is a number. */
  readonly countsLogprobs?: boolean;
  /** Fields of messages, content parts and tool calls that it refuses; `cache_control` of tools and of the whole request too. */
  readonly messageDrops?: readonly string[];
  /** True if it knows `cache_control` on messages, parts and tools. */
  readonly takesCacheControl?: boolean;
  /** True if it knows the field and the part of a refusal. Others get it as text. */
  readonly takesRefusal?: boolean;
  /** True if it gives what it read in a file as an annotation of the answer, and takes it back in place of reading the file again. */
  readonly takesReadFiles?: boolean;
  /** True if it knows `top_k`. */
  readonly takesTopK?: boolean;
  /** Messages whose content must be a string if all its parts are text. */
  readonly plainText?: 'system' | 'all';
  /** True if user and assistant must take turns: messages of one role in a row are joined. */
  readonly alternates?: boolean;
  /** Which ids of tool calls it takes, if not all: nine letters or digits, or at most forty characters. */
  readonly callIds?: 'nine' | 'forty';
  /** True if the name of a tool may have at most 64 letters, digits, `_` and `-`. Other names are then written in another way. */
  readonly plainNames?: true;
  /** True if the results of tools may hold texts only. Images and files then go behind the results, as the user's. */
  readonly textResults?: true;
  /** True if a tool must have a schema, also where it takes no arguments. */
  readonly needsParameters?: boolean;
  /** Fields at the top of a tool's schema that it cannot handle. */
  readonly schemaDrops?: readonly string[];
  /** True if it has fields of `reasoning` beside effort and budget (`exclude`, `enabled`). The caller's fields are then sent. */
  readonly takesReasoningFields?: boolean;
  /**
   * How the vendor takes embeddings: the most texts of one call, the vendor's name for `dimensions`
   * (null: it takes none), what it refuses besides `drops`, and whether it gives vectors as base64 too.
   */
  readonly embeddings?: {
    readonly most?: number;
    readonly dimensions?: string | null;
    readonly drops?: readonly string[];
    readonly hasBase64?: boolean;
  };
  /**
   * How a tool can be forced, where `tool_choice` has not all its forms: by its name,
   * but not by `required`; or never, because every choice but `auto` is refused.
   */
  readonly forcesTools?: 'by-name' | 'never';
  /** True if it knows a choice among some of the tools (`allowed_tools`). Elsewhere the others are left out. */
  readonly knowsAllowedTools?: boolean;
  /** The error code that, with the status 429, means a rate limit at this vendor, and an empty account at other vendors. */
  readonly limitCode?: string;
  /** The first family that matches counts. */
  readonly families?: readonly Family[];
}

const word = (effort: string): Said => ({ word: effort, fields: { reasoning_effort: effort } });

/** Efforts as `reasoning_effort`, in the order none, minimal, low, medium, high, xhigh. */
export function saidAs(...words: readonly (string | Said | null)[]): Efforts {
  const [none, minimal, low, medium, high, xhigh] = words.map((said) => (typeof said === 'string' ? word(said) : (said ?? null)));
  return {
    none: none ?? null,
    minimal: minimal ?? null,
    low: low ?? null,
    medium: medium ?? null,
    high: high ?? null,
    xhigh: xhigh ?? null,
  };
}

/** The values where a row has none: a server that speaks the API as it was before reasoning models. */
const standard: Habits = {
  maxTokens: 'max_tokens',
  instructions: 'system',
  efforts: saidAs('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
  budget: null,
  replay: null,
  drops: [],
  takesUnthinking: [],
  spares: [],
  adds: {},
  thinkTags: false,
  usage: {},
};

// cost: the habits of a mapping never change, and finding them tries the pattern of each family
const known = new WeakMap<Vendor, WeakMap<Target['mapping'], Habits>>();

/**
 * The habits for one target. A value of its family counts before a value of the vendor,
 * and that before the standard. The `drops` of the vendor and of the family are added up.
 */
export function habitsOf(vendor: Vendor, target: Target): Habits {
  const found = known.get(vendor)?.get(target.mapping);
  if (found !== undefined) return found;
  const ofVendor = known.get(vendor) ?? new WeakMap<Target['mapping'], Habits>();
  known.set(vendor, ofVendor);
  const habits = habitsNamed(vendor, target.mapping.externalId, target.model.id);
  ofVendor.set(target.mapping, habits);
  return habits;
}

/** The habits for a model by its name at the vendor and its id in the catalogue. */
export function habitsNamed(vendor: Vendor, externalId: string, id: string): Habits {
  const names = vendor.namesDeployments === true ? [externalId, id] : [externalId];
  const family = vendor.families?.find(({ match }) => names.some((name) => match.test(name.toLowerCase())));
  const drops = [...(vendor.drops ?? []), ...(family?.drops ?? [])];
  const habits = { ...standard, ...vendor, ...family, drops };
  return thinksAlways(externalId, id) ? { ...habits, efforts: { ...habits.efforts, none: null } } : habits;
}
