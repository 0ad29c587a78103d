/** The failures that a prompt asks for: an error status, or an answer that breaks off or stops coming. */
import type { Attempt } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ErrorCode, ErrorKind } from '../../../core/errors.ts';
import { last } from './prompt.ts';
import type { Instruction, Prompt } from './prompt.ts';
import type { Break } from './source.ts';
import { statusCodes } from '../../../core/wire/upstream-error.ts';

const codes: Readonly<Record<number, ErrorCode>> = { ...statusCodes, 400: 'upstream_invalid_request', 402: 'upstream_quota_exhausted' };

/** The error that `[[status]]` asks for, or null where this attempt shall not fail with a status. */
export function statusFor(prompt: Prompt, attempt: Attempt): GatewayError | null {
  const asked = last(prompt, 'status');
  if (asked === undefined || asked.number === null || !isMeant(asked, attempt)) return null;
  const status = asked.number;
  const seconds = asked.options['retry-after'];
  return new GatewayError(
    codeOf(status),
    `The mock provider "${attempt.candidate.provider.id}" answers with status ${status}, as the prompt asks.`,
    {
      upstreamStatus: status,
      retryAfterMs: seconds === undefined ? null : Number(seconds) * 1000,
    },
  );
}

function codeOf(status: number): ErrorCode | ErrorKind {
  if (status >= 500) return codes[status] ?? 'upstream_error';
  return codes[status] ?? { status, type: 'invalid_request_error', code: 'upstream_invalid_request' };
}

/** The break that `[[cut]]` or `[[hang]]` asks for, or null where this attempt shall not break. */
export function breakFor(prompt: Prompt, attempt: Attempt): Break | null {
  const asked = last(prompt, 'cut', 'hang');
  if (asked === undefined || !isMeant(asked, attempt)) return null;
  return { after: asked.number ?? 0, how: asked.name === 'cut' ? 'cut' : 'hang' };
}

/**
 * Whether an instruction applies to an attempt: `attempts:1` limits it to the
 * first attempt, `provider:mock-a` to that provider; both limits may be set.
 */
function isMeant({ options }: Instruction, { number, candidate }: Attempt): boolean {
  if (options.attempts !== undefined && number > Number(options.attempts)) return false;
  return options.provider === undefined || options.provider === candidate.provider.id;
}
