/** Ids of tool calls that the gateway makes: for calls that came without one, and for ids that the next provider refuses. Why they are hashes is in docs/decisions.md. */
import { createHash } from 'node:crypto';

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** An id that every server takes. wire: OpenAI answers 400 to an id of more than 40 characters (error text of `tool_calls[].id`), on Responses of more than 64. */
export const callIdFrom = (seed: string, prefix: 'call' | 'toolu' = 'call'): string => `${prefix}_${hashOf(seed).slice(0, 24)}`;

/** A hash of letters and digits alone. */
export const lettersAndDigits = (text: string): string => hashOf(text).replaceAll(/[-_]/g, '');

/** wire: Mistral answers 400 to an id that is not nine letters or digits (Mistral: error text of `tool_call_id`), on Bedrock too (vercel/ai, packages/amazon-bedrock/src/normalize-tool-call-id.ts, 2026-11). */
export const nineCharacters = (id: string): string => (/^[a-zA-Z0-9]{9}$/.test(id) ? id : lettersAndDigits(id).slice(0, 9));
