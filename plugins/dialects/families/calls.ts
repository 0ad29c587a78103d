/**
 * Tool calls in the forms that other providers take. The gateway makes ids for calls that came without one,
 * and for ids that the next provider refuses. Why they are hashes is in docs/decisions.md.
 */
import { createHash } from 'node:crypto';
import type { Adjust } from '../../../core/wire/adjustments.ts';
import { objectIn } from '../../../core/wire/json.ts';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

/**
 * An id that every server takes.
 * wire: OpenAI answers 400 to an id of more than 40 characters (error text of `tool_calls[].id`), on Responses of more than 64.
 */
export const callIdFrom = (seed: string, prefix: 'call' | 'toolu' = 'call'): string => `${prefix}_${hashOf(seed).slice(0, 24)}`;

/** A hash of letters and digits alone. */
export const lettersAndDigits = (text: string): string => hashOf(text).replaceAll(/[-_]/g, '');

/**
 * wire: Mistral answers 400 to an id that is not nine letters or digits (Mistral: error text of
 * `tool_call_id`), on Bedrock too (vercel/ai, packages/amazon-bedrock/src/normalize-tool-call-id.ts, 2026-11).
 */
export const nineCharacters = (id: string): string => (/^[a-zA-Z0-9]{9}$/.test(id) ? id : lettersAndDigits(id).slice(0, 9));

/**
 * The ids of the calls of one conversation, each of them once. Some models count their calls anew
 * in each answer (Kimi K3: vllm-project/vllm#50295, 2026-07), so the history has an id twice.
 * wire: an id that comes twice is a 400 "`tool_use` ids must be unique" at Anthropic (NVIDIA-NeMo/Switchyard#502, 2026-08), a 400
 * "contain duplicate Ids" at Bedrock if one message has both (BerriAI/litellm#20047, 2026-01), and a 400 "Duplicate item found with id"
 * at OpenAI's models behind OpenRouter (anomalyco/opencode#32748, 2026-06).
 */
export class CallIds {
  readonly #written: (id: string) => string;
  /** For each id of the caller: the ids that its calls have got, and how many results have come. */
  readonly #known = new Map<string, { readonly own: string[]; results: number }>();

  /** @param written the form of an id that the API takes */
  constructor(written: (id: string) => string) {
    this.#written = written;
  }

  /** The id of the next call. Calls and results must be asked for in their order in the conversation. */
  ofCall(id: string): string {
    const known = this.#known.get(id);
    const own = this.#written(known === undefined ? id : callIdFrom(`${id} ${known.own.length}`));
    if (known === undefined) this.#known.set(id, { own: [own], results: 0 });
    else known.own.push(own);
    return own;
  }

  /** The id of the call that the next result belongs to. */
  ofResult(id: string): string {
    const known = this.#known.get(id);
    return known?.own[Math.min(known.results++, known.own.length - 1)] ?? this.#written(id);
  }
}

/**
 * The arguments of a call as an object, for wires that take no text. Arguments that are not an object, for example of a call that was cut,
 * are wrapped in one, so that the model still sees them; `adjust` notes it. Clients send `""` for a call without arguments.
 */
export function argumentsIn(text: string, adjust: Adjust): object {
  if (text.trim() === '') return {};
  const given = objectIn(text);
  if (given !== null) return given;
  adjust('messages.tool_calls.function.arguments', 'wrapped in an object');
  return { arguments: text };
}
