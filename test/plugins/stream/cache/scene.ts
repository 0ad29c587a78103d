/** The requests and replies of the cache tests. */
import type { TestGateway } from '../../../_kit/gateway.ts';
import { readEvents } from '../../../_kit/gateway.ts';
import { completion } from '../../../_kit/upstream.ts';
import type { Step } from '../../../_kit/upstream.ts';

export const on = { 'x-cache': 'on' };

/** The text of a plain answer, and its `x-cache` header. */
export async function plain(
  gateway: TestGateway,
  more: object = {},
  headers: Record<string, string> = on,
): Promise<{ text: string; cache: string | null }> {
  const response = await gateway.chat(more, headers);
  const { choices } = (await response.json()) as { choices?: { message: { content: string } }[] };
  return { text: choices?.[0]?.message.content ?? `status ${response.status}`, cache: response.headers.get('x-cache') };
}

export async function streamed(
  gateway: TestGateway,
  more: object = {},
  headers: Record<string, string> = on,
): Promise<Awaited<ReturnType<typeof readEvents>> & { cache: string | null }> {
  const response = await gateway.chat({ stream: true, ...more }, headers);
  return { ...(await readEvents(response)), cache: response.headers.get('x-cache') };
}

/** Answers with the number of the request, so that answers differ. */
export const counting = (): Step => {
  let count = 0;
  return (response) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion(`answer ${++count}`)));
};

/** An answer that waits until the test releases it, and reports when it was asked. */
export function held(step: Step): { step: Step; asked: Promise<void>; release: () => void } {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  return {
    step: async (response, request) => {
      asked.resolve();
      await released.promise;
      await step(response, request);
    },
    asked: asked.promise,
    release: () => released.resolve(),
  };
}
