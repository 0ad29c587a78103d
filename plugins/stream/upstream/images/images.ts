/**
 * Puts images into a request as bytes, for providers that do not fetch addresses themselves (`Dialect.fetchesImage`). The images of a
 * request are fetched side by side, each address once, also where several providers are tried.
 */
import type { ChatRequest, ContentPart, Message } from '../../../../core/chat.ts';
import { within } from '../../../../core/cancellation.ts';
import { GatewayError } from '../../../../core/errors.ts';
import type { Attempt, Streaming } from '../../../../core/pipeline/context.ts';
import type { Dialect, Target } from '../../../../core/wire/dialect.ts';
import { fieldsOf, textOf } from '../../../../core/wire/fields.ts';
import { hasImages } from '../../../../core/wire/turns.ts';
import type { Metric } from '../../../../core/host/metric-sources.ts';
import { inTurns } from '../in-turns.ts';
import { Unreached } from './addresses.ts';
import type { Reach } from './addresses.ts';
import { fetchImage } from './fetch.ts';

const outcomes = ['fetched', 'refused', 'failed'] as const;

/** How many images were fetched, not fetched because of a rule, or could not be fetched. */
type ImageCounts = Record<(typeof outcomes)[number], number>;

export const noImages = (): ImageCounts => ({ fetched: 0, refused: 0, failed: 0 });

/** The images of one request. */
interface Fetching {
  readonly over: AbortController;
  /** Data URLs by address. */
  readonly images: Map<string, Promise<string>>;
  bytes: number;
}

/** The attempt that needs the images, and how it is asked. */
interface Into {
  readonly attempt: Attempt;
  readonly dialect: Dialect;
  readonly target: Target;
}

export class Images {
  readonly #reach: Reach;
  readonly #counts: ImageCounts;
  /** What is fetched for each request, by its context. */
  readonly #running = new Map<object, Fetching>();

  constructor(reach: Reach, counts: ImageCounts) {
    this.#reach = reach;
    this.#counts = counts;
  }

  /** Whether the provider of this target needs images of the request as bytes. */
  static areNeeded({ request, config }: Pick<Streaming, 'request' | 'config'>, { fetchesImage }: Dialect, target: Target): boolean {
    return (
      fetchesImage !== undefined &&
      config.server.fetchImages &&
      hasImages(request.messages) &&
      request.messages.some((message) => partsOf(message).some((part) => addressIn(part, fetchesImage, target) !== null))
    );
  }

  /**
   * The request, with data URLs for the images that the provider does not fetch itself. Throws
   * `unsupported_value` for an image that cannot be fetched: another provider may fetch it.
   */
  async into(context: Streaming, { attempt, dialect: { fetchesImage = () => true }, target }: Into): Promise<ChatRequest> {
    const { request } = context;
    const places = new Map<string, string>();
    for (const [at, message] of request.messages.entries()) {
      for (const [index, part] of partsOf(message).entries()) {
        const address = addressIn(part, fetchesImage, target);
        if (address !== null && !places.has(address)) places.set(address, `messages[${at}].content[${index}].image_url`);
      }
    }
    const fetched = new Map<string, string>();
    await inTurns([...places], async ([address, param]) => {
      // nothing would end a fetch that is begun after the end of the attempt
      attempt.cancellation.throwIfCancelled();
      try {
        fetched.set(address, await inTime(this.#image(address, context), leftOf(attempt, context)));
      } catch (thrown) {
        throw asError(thrown, param);
      }
    });
    const inline = (part: ContentPart): ContentPart => {
      const data = fetched.get(addressIn(part, fetchesImage, target) ?? '');
      return data === undefined ? part : { ...part, image_url: { ...fieldsOf(part['image_url']), url: data } };
    };
    return {
      ...request,
      messages: request.messages.map((message) =>
        Array.isArray(message.content) ? { ...message, content: partsOf(message).map(inline) } : message,
      ),
    };
  }

  /** Called when the request is over: fetches that still run are no longer wanted. */
  end(context: object): void {
    if (this.#running.size === 0) return;
    this.#running.get(context)?.over.abort();
    this.#running.delete(context);
  }

  metrics(): Metric[] {
    return [
      {
        type: 'counter',
        name: 'gateway_image_fetches_total',
        help: 'Images that were fetched for providers that take only bytes.',
        samples: outcomes.map((outcome) => [{ outcome }, this.#counts[outcome]] as const),
      },
    ];
  }

  #image(address: string, context: Streaming): Promise<string> {
    const of = this.#running.get(context) ?? { over: new AbortController(), images: new Map<string, Promise<string>>(), bytes: 0 };
    this.#running.set(context, of);
    const image = of.images.get(address) ?? this.#fetch(address, of, context);
    of.images.set(address, image);
    return image;
  }

  async #fetch(address: string, of: Fetching, context: Streaming): Promise<string> {
    const { body: most } = context.config.server.limits;
    try {
      const image = await fetchImage(address, {
        reach: this.#reach,
        signal: of.over.signal,
        hold: (bytes) => {
          of.bytes += bytes;
          // safety: a short request may name many large images
          if (of.bytes > most) throw new Unreached(`the images of one request are larger than ${most} bytes in all`, false);
          context.hold(bytes);
        },
      });
      this.#counts.fetched++;
      return image;
    } catch (thrown) {
      if (!of.over.signal.aborted) this.#counts[thrown instanceof Unreached && thrown.isForbidden ? 'refused' : 'failed']++;
      throw thrown;
    }
  }
}

/**
 * Milliseconds that are left for images: half of the time in which the provider must begin to answer.
 * safety: a provider that is asked too late, or not at all, would count as one that does not answer, and rest for all callers.
 */
function leftOf({ policy: { timeouts }, startedAt }: Attempt, context: Streaming): number {
  const whole = Math.min(timeouts.firstByte, context.startedAt + timeouts.total - startedAt);
  return Math.max(0, startedAt + whole / 2 - performance.now());
}

async function inTime(image: Promise<string>, ms: number): Promise<string> {
  const found = await within(image, ms, null);
  if (found === null) throw new Unreached('it took more than half of the time that its provider has', false);
  return found;
}

const partsOf = ({ content }: Message): readonly ContentPart[] => (Array.isArray(content) ? (content as readonly ContentPart[]) : []);

/** The address of an image that the provider does not fetch; null for every other part. */
function addressIn({ type, image_url: image }: ContentPart, fetches: NonNullable<Dialect['fetchesImage']>, target: Target): string | null {
  if (type !== 'image_url') return null;
  const url = textOf(image) ?? textOf(fieldsOf(image)['url']);
  return url !== null && /^https?:/i.test(url) && !fetches(url, target) ? url : null;
}

/** safety: the message does not describe the address, about which the caller could learn more than it should. */
function asError(thrown: unknown, param: string): unknown {
  if (GatewayError.is(thrown)) return thrown;
  const why = thrown instanceof Unreached ? thrown.message : 'its server cannot be read';
  return new GatewayError(
    'unsupported_value',
    `"${param}" could not be fetched: ${why}. Send the image as a data URL (data:image/png;base64,...).`,
    { param, cause: thrown },
  );
}
