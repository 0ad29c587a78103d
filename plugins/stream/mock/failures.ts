/** The failures that a prompt asks for: a status of the provider, or an answer that breaks off or falls silent. */
import type { Attempt } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ErrorCode, ErrorKind } from '../../../core/errors.ts';
import { last } from './prompt.ts';
import type { Instruction, Prompt } from './prompt.ts';
import type { Break } from './source.ts';
import { statusCodes } from '../../../core/wire/upstream-error.ts';

const codes: Readonly<Record<number, ErrorCode>> = { ...statusCodes, 400: 'upstream_invalid_request', 402: 'upstream_quota_exhausted' };

/** The error that `[[status]]` asks of this attempt. */
export function statusFor(prompt: Prompt, attempt: Attempt): GatewayError | null {
  const asked = last(prompt, 'status');
  if (asked === undefined || asked.number === null || !isMeant(asked, attempt)) return null;
  const status = asked.number;
  const seconds = asked.options['retry-after'];
  return new GatewayError(codeOf(status), `The mock provider "${attempt.candidate.provider.id}" answers with status ${status}, as the prompt asks.`, {
    upstreamStatus: status,
    retryAfterMs: seconds === undefined ? null : Number(seconds) * 1000,
  });
}

function codeOf(status: number): ErrorCode | ErrorKind {
  if (status >= 500) return codes[status] ?? 'upstream_error';
  return codes[status] ?? { status, type: 'invalid_request_error', code: 'upstream_invalid_request' };
}

/** Where `[[cut]]` or `[[hang]]` breaks this attempt. */
export function breakFor(prompt: Prompt, attempt: Attempt): Break | null {
  const asked = last(prompt, 'cut', 'hang');
  if (asked === undefined || !isMeant(asked, attempt)) return null;
  return { after: asked.number ?? 0, how: asked.name === 'cut' ? 'cut' : 'hang' };
}

/** `attempts:1` means the first attempt only, `provider:mock-a` that provider only; both together: both. */
function isMeant({ options }: Instruction, { number, candidate }: Attempt): boolean {
  if (options.attempts !== undefined && number > Number(options.attempts)) return false;
  return options.provider === undefined || options.provider === candidate.provider.id;
}
