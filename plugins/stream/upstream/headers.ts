/** The headers of a request to a provider. */
import type { Provider } from '../../../core/config.ts';
import type { SentRequest } from '../../../core/pipeline/context.ts';
import { isCredential, mask } from '../../../core/secret.ts';
import { isThenable } from '../../../core/cancellation.ts';
import type { Dialect, WireRequest } from '../../../core/wire/dialect.ts';
import { version } from '../../../core/version.ts';

const always = { 'user-agent': `model-gateway/${version}`, 'accept-encoding': 'identity' };

/**
 * The dialect's own headers with the credentials and then the headers of
 * the provider's entry over them. `vendor` is the dialect of the provider.
 */
export function headersOf(wire: WireRequest, vendor: Dialect | undefined, provider: Provider): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { ...always, ...wire.headers, ...credentialsOf(vendor, provider) };
  for (const [header, value] of Object.entries(provider.headers)) {
    if (!isWithin(value, wire.headers[header] ?? '')) headers[header] = value;
  }
  return headers;
}

/** safety: a dialect may be JavaScript. A promise has no headers, and the request would go out without its credentials. */
function credentialsOf(vendor: Dialect | undefined, provider: Provider): Readonly<Record<string, string>> | undefined {
  const given = vendor?.authorise?.(provider);
  if (isThenable(given)) throw new TypeError('authorise() must give an object of headers, and gave a promise');
  return given;
}

/**
 * True if a dialect merged the entry's value into a list of its own, such as beta
 * flags: each item of the value is an item of the list. That list must not be replaced.
 */
function isWithin(value: string, list: string): boolean {
  const merged = new Set(itemsOf(list));
  const items = itemsOf(value);
  return items.length > 0 && items.every((item) => merged.has(item));
}

const itemsOf = (list: string): string[] =>
  list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/**
 * What the log keeps of a request: without what `authorise` and `sign`
 * add, and without the values of the entry's headers, which may be secret.
 */
export class SentToProvider implements SentRequest {
  readonly method = 'POST';
  readonly url: string;
  readonly #wire: WireRequest;
  readonly #provider: Provider;

  constructor(wire: WireRequest, { url, provider }: { url: string; provider: Provider }) {
    this.#wire = wire;
    this.url = url;
    this.#provider = provider;
  }

  get body(): string {
    return this.#wire.body;
  }

  get adjustments(): WireRequest['adjustments'] {
    return this.#wire.adjustments;
  }

  // cost: only a reference to the request is kept here: the headers are put together when the record is written
  get headers(): Readonly<Record<string, string>> {
    const own = Object.keys(this.#provider.headers).filter((name) => !isCredential(name));
    return { ...always, ...this.#wire.headers, ...Object.fromEntries(own.map((name) => [name, mask])) };
  }
}
