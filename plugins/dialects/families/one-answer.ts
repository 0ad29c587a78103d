/** Providers that give one answer for each request. */
import { GatewayError } from '../../../core/errors.ts';

/**
 * Throws `unsupported_value` where the caller asks for several answers:
 * one of them is of no use, and another provider may give all of them.
 * @param who the provider, at the start of a sentence
 */
export function refuseSeveral(n: number | null, who = 'This provider'): void {
  if (n !== null && n > 1) {
    throw new GatewayError('unsupported_value', `${who} gives one answer for each request. Leave out "n", or send it as 1.`, {
      param: 'n',
    });
  }
}
