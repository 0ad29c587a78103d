/** The state of the services that the gateway needs, such as its stores. */
import { html, useContext } from './html.js';
import { ago, count, size } from './format.js';
import { Icon } from './icons.js';
import { Status } from './shell.js';

export function HealthStrip() {
  const data = useContext(Status);
  if (data === null) return html`<section class="card health" />`;
  const { health, log, config } = data;
  const on = config.providers.filter(({ isOn }) => isOn).length;
  // checks of plugins, such as the identity of the machine at a cloud
  const failing = Object.entries(health).filter(
    ([name, check]) => !['redis', 'database'].includes(name) && check?.connected === false && check.error !== 'skipped',
  );
  const rows = [
    ['Gateway', health.status === 'ok' ? 'ok' : 'warn', health.status],
    ...failing.map(([name, { error }]) => [name[0].toUpperCase() + name.slice(1), 'bad', error ?? 'away']),
    [
      'Log store',
      log === null ? 'off' : log.connected ? 'ok' : 'bad',
      log === null ? 'none' : log.connected ? 'connected' : String(log.error ?? 'away').replaceAll('_', ' '),
    ],
    [
      'Journal',
      log === null ? 'off' : log.waitingRecords > 1000 ? 'warn' : 'ok',
      log === null
        ? 'none'
        : log.waitingBytes === 0
          ? `empty${log.lastDrainAt === null ? '' : `, written ${ago(log.lastDrainAt)}`}`
          : `${size(log.waitingBytes)} wait, with ${count(log.waitingRecords)} records since the start`,
    ],
    [
      'Redis',
      health.redis.connected ? 'ok' : health.redis.error === 'not configured' ? 'off' : 'bad',
      health.redis.connected ? 'connected' : health.redis.error,
    ],
    ['Providers', on > 0 ? 'ok' : 'bad', html`<a href="/dashboard/providers">${on} of ${config.providers.length} on</a>`],
    [
      'Retention',
      'off',
      log === null
        ? 'nothing'
        : `${log.retentionDays === 0 ? 'for ever' : `${log.retentionDays} days`}, ${log.bodies ? 'with bodies' : 'without bodies'}`,
    ],
  ];
  return html`<section class="card health">
    <header><h2>Health</h2><span class="soft">v${data.version}</span></header>
    <dl>${rows.map(
      ([name, tone, text]) => html`<div key=${name}>
        <dt>${name}</dt>
        <dd class="mark mark-${tone}"><${Icon} name=${{ ok: 'check', warn: 'alert', bad: 'cross', off: 'more' }[tone]} />${text}</dd>
      </div>`,
    )}</dl>
  </section>`;
}
