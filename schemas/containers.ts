/**
 * Makes the config for containers (`deploy/chart/config/gateway.config.yaml`)
 * from the shipped config, so that both have the same providers and plugins.
 */

const head = `# The config of a gateway in containers: compose.yaml, the Helm chart and the Kubernetes manifests use it. \`npm run generate\` makes it from
# the shipped gateway.config.yaml, which explains each setting. It differs in \`server\`, has one key for callers, stores the log in
# PostgreSQL, and shares limits, cache and reasoning state through Redis.
#
# It needs ADMIN_KEY, CALLER_KEY, DATABASE_URL and REDIS_URL. A provider is on if its variable is set.

server:
  host: 0.0.0.0
  data_dir: /var/lib/gateway  # the journal: records that are not in PostgreSQL yet
  admin_key: \${ADMIN_KEY}     # for the dashboard, /api and /metrics; the same in all gateways behind one address
  # trusted_proxies: [10.0.0.0/8] # the proxies before the gateway: it trusts their headers about the client's address
  limits: { lame_duck_ms: 10000, drain_ms: 60000 } # at a stop: the time for load balancers to notice it, and for running requests to end

keys:
  - { name: first, key: "\${CALLER_KEY}" } # \`gateway keys create\` prints the lines of the next one
`;

const journal = `  - use: log/journal            # stores every request in PostgreSQL
    with: { store: postgres, url: "\${DATABASE_URL}", bodies: true, retention_days: 31 }
`;

/** @param shipped the text of the shipped `gateway.config.yaml` */
export function containersText(shipped: string): string {
  const block = (name: string): string => {
    const found = new RegExp(`^${name}:\\n(?: {2}.*\\n)+`, 'm').exec(shipped)?.[0];
    if (found === undefined) throw new Error(`gateway.config.yaml has no block "${name}"`);
    return found;
  };
  const include = block('include').replace('./config/catalogue/', 'model-gateway/config/catalogue/');
  const plugins = block('plugins').replace(/ {2}- use: log\/journal.*\n {4}with: .*\n/, journal);
  return [head, block('providers'), include, block('routing'), 'redis: { url: "${REDIS_URL}", when_away: local }\n', plugins].join('\n');
}
