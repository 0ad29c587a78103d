/** Posts each failed request to a web address. In the YAML: `- { use: ./examples/webhook.ts, with: { url: "${WEBHOOK_URL}" } }`. */
import { definePlugin, withCheck } from 'model-gateway';

const patienceMs = 5000;
const mostUnderWay = 100;

export default definePlugin<{ url: string }>({
  name: 'log/webhook',
  summary: 'posts each failed request to a web address',
  schema: {
    type: 'object',
    additionalProperties: false,
    required: ['url'],
    properties: { url: { type: 'string', minLength: 1, description: 'Where to post. Example: https://hooks.example/gateway.' } },
  },
  apply({ hooks, fetch, logger }, { url }) {
    let fault: string | undefined;
    const underWay = new Set<Promise<void>>();

    async function post(body: object): Promise<void> {
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(patienceMs),
        });
        fault = response.ok ? undefined : `answered ${response.status}`;
      } catch (error) {
        fault = 'unreachable';
        // safety: the address is often a secret, and the message of the error may quote it
        const { name, cause } = error as Error;
        logger.warn('the webhook was not told of a request', { reason: (cause as { code?: string } | undefined)?.code ?? name });
      }
    }

    // the tap returns no promise, so no reply waits for the webhook
    hooks.log.tap(({ id, createdAt, model, provider, status, error, metadata }) => {
      if (error === null || underWay.size >= mostUnderWay) return;
      const posting = post({ id, createdAt, model, provider, status, error, metadata }).finally(() => underWay.delete(posting));
      underWay.add(posting);
    });
    hooks.health.tap((report) =>
      withCheck(report, 'webhook', fault === undefined ? { connected: true } : { connected: false, error: fault }),
    );
    return async () => void (await Promise.all(underWay));
  },
});
