/**
 * Providers whose credentials are the identity of this machine at a cloud. Each attempt
 * gets valid credentials; the start and the health check report where there are none.
 */
import type { Provider } from '../../../core/config.ts';
import type { Credentials, Identity } from '../../../core/wire/dialect.ts';
import { within } from '../../../core/cancellation.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import { withCheck } from '../../../core/pipeline/hooks.ts';
import { Secret } from '../../../core/secret.ts';
import { Renewal } from './renewal.ts';

/** How long a health check waits for credentials. */
const healthMs = 1000;
const longestFault = 500;

/**
 * The provider of an entry with its credentials in it: at once where they are
 * valid. The promise rejects with `upstream_auth_error` where there are none.
 */
type Admit = (entry: Provider) => Provider | Promise<Provider>;

/** Taps `boot` and `health` for the providers of the config that name an identity. */
export function createIdentities({ hooks, config, dialects, state, clock, logger }: Gateway): Admit {
  const entries = [...config.providers.values()].filter(({ auth, missing }) => auth !== null && missing === null);
  const renewalOf = (entry: Provider): Renewal => {
    const { id, dialect, auth } = entry;
    const identity = dialects.get(dialect)?.identities?.[auth ?? ''];
    if (identity === undefined) {
      throw new GatewayError('upstream_auth_error', `The dialect of the provider "${id}" has no identity "${auth}".`);
    }
    const changed = (fault: Error | null): void => {
      if (fault === null) logger.info('the identity of this machine gives credentials again', { auth });
      else {
        logger.error('the identity of this machine gives no credentials; requests go to other providers, or fail', {
          auth,
          provider: id,
          error: told(fault, identity),
        });
      }
    };
    // the same for all entries, because a cloud knows one identity of a process
    return state(`identity ${dialect} ${auth}`, () => new Renewal({ fetch: () => identity.fetch(), clock, changed }));
  };
  if (entries.length > 0) {
    hooks.boot.tap(() => {
      // the start does not wait for the clouds; `changed` reports a failure
      for (const entry of entries) void Promise.resolve(renewalOf(entry).get()).catch(() => {});
    });
    hooks.health.tapPromise(async (report, { skip }) => {
      if (skip.has('identity')) return report;
      const checks = await Promise.all(entries.map(async (entry) => [entry.id, await isAdmitted(renewalOf(entry))] as const));
      return checks.reduce(
        (checked, [id, connected]) =>
          withCheck(checked, `identity of ${id}`, connected ? { connected } : { connected, error: 'no credentials' }),
        report,
      );
    });
  }
  return (entry) => {
    const found = renewalOf(entry).get();
    return found instanceof Promise
      ? found.then(
          (credentials) => admitted(entry, credentials),
          (cause: unknown) => refuse(entry, cause),
        )
      : admitted(entry, found);
  };
}

const isAdmitted = async (renewal: Renewal): Promise<boolean> =>
  await within(
    Promise.resolve(renewal.get()).then(
      () => true,
      () => false,
    ),
    healthMs,
    false,
  );

function refuse({ id }: Provider, cause: unknown): never {
  throw new GatewayError(
    'upstream_auth_error',
    `The gateway has no credentials for the provider "${id}": the identity of its machine gives none.`,
    { cause },
  );
}

/** The text for the operator. A package that is not installed is the only failure that can be fixed without the cloud. */
function told({ message, code }: NodeJS.ErrnoException, { package: name }: Identity): string {
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') {
    return `the npm package ${name} is not installed; run: npm install ${name}`;
  }
  return message.slice(0, longestFault);
}

// cost: one provider object for each entry and its credentials, and not one for each request
const known = new WeakMap<Provider, readonly [Credentials, Provider]>();

function admitted(entry: Provider, credentials: Credentials): Provider {
  const before = known.get(entry);
  if (before?.[0] === credentials) return before[1];
  const { api_key: key, ...others } = credentials.settings;
  const secrets = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, new Secret(value)]));
  const provider: Provider = Object.freeze({
    ...entry,
    apiKey: key === undefined ? null : new Secret(key),
    settings: { ...entry.settings, ...secrets },
  });
  known.set(entry, [credentials, provider]);
  return provider;
}
