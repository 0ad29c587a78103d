/** A refresh: a request that wants a new answer (`x-cache: refresh`), while older equal requests run. */
import { expect, it } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { answers, completion } from '../../../_kit/upstream.ts';
import { gatewayOf, probe, provider } from '../../../core/scene.ts';
import { LATE } from '../../../../core/pipeline/hooks.ts';
import { held, on, plain } from './scene.ts';

const refresh = { 'x-cache': 'refresh' };
const says = (text: string) => answers(completion(text));
const hi = { model: 'plain', messages: [{ role: 'user', content: 'hi' }] };
const asksAgain = says('asked again');

it.each([on, refresh])('the answer of a refresh is kept where an older request with %o ends later', async (headers) => {
  const old = held(says('old'));
  const up = await provider(old.step, says('new'), asksAgain);
  const gateway = await gatewayOf(oneUpstream(up.url));
  const first = plain(gateway, {}, headers);
  await old.asked;
  expect((await plain(gateway, {}, refresh)).text).toBe('new');
  old.release();
  expect((await first).text).toBe('old');
  expect(await plain(gateway)).toEqual({ text: 'new', cache: 'hit' });
});

it('a refresh gives its answer to requests that come while the older request runs', async () => {
  const old = held(says('old'));
  const up = await provider(old.step, says('new'), asksAgain);
  const gateway = await gatewayOf(oneUpstream(up.url));
  const first = plain(gateway);
  await old.asked;
  await plain(gateway, {}, refresh);
  expect(await plain(gateway)).toEqual({ text: 'new', cache: 'hit' });
  old.release();
  await first;
});

it('a refresh that fails leaves the answer of the older request', async () => {
  const old = held(says('old'));
  const up = await provider(old.step, answers({ error: { message: 'no' } }, { status: 400 }), asksAgain);
  const gateway = await gatewayOf(oneUpstream(up.url));
  const first = plain(gateway);
  await old.asked;
  expect((await plain(gateway, {}, refresh)).text).toBe('status 400');
  old.release();
  await first;
  expect(await plain(gateway)).toEqual({ text: 'old', cache: 'hit' });
});

it('a refresh does not disturb requests that wait for the older request', async () => {
  const old = held(says('old'));
  const up = await provider(old.step, says('new'), says('of the next'), asksAgain);
  let arrived = 0;
  const counted = probe(({ hooks }) => hooks.route.tap({ stage: LATE - 3 }, (candidates) => (arrived++, candidates)));
  const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [counted] });
  const leaves = new AbortController();
  const first = gateway.post(hi, { headers: on, signal: leaves.signal }).catch(() => null);
  await old.asked;
  const leaving = new AbortController();
  const gone = gateway.post(hi, { headers: on, signal: leaving.signal }).catch(() => null);
  await expect.poll(() => arrived).toBe(2);
  const waiting = plain(gateway);
  await expect.poll(() => arrived).toBe(3);
  await plain(gateway, {}, refresh);
  leaving.abort();
  await gone;
  await expect.poll(() => gateway.records.filter(({ outcome }) => outcome === 'gone').length).toBe(1);
  leaves.abort();
  await first;
  expect(await waiting).toEqual({ text: 'of the next', cache: 'miss' });
  expect(await plain(gateway)).toEqual({ text: 'new', cache: 'hit' });
});

const fails = answers({ error: { message: 'no' } }, { status: 400 });

it('the answer of a refresh is kept where another refresh between it and the older request has failed', async () => {
  const [old, between, last] = [held(says('old')), held(fails), held(says('new'))];
  const up = await provider(old.step, between.step, last.step, asksAgain);
  const gateway = await gatewayOf(oneUpstream(up.url));
  const first = plain(gateway);
  await old.asked;
  const second = plain(gateway, {}, refresh);
  await between.asked;
  const third = plain(gateway, {}, refresh);
  await last.asked;
  between.release();
  expect((await second).text).toBe('status 400');
  last.release();
  expect((await third).text).toBe('new');
  old.release();
  await first;
  expect(await plain(gateway)).toEqual({ text: 'new', cache: 'hit' });
});

it('the answer of a refresh is kept where another refresh before it has failed while the older request runs', async () => {
  const old = held(says('old'));
  const up = await provider(old.step, fails, says('new'), asksAgain);
  const gateway = await gatewayOf(oneUpstream(up.url));
  const first = plain(gateway);
  await old.asked;
  await plain(gateway, {}, refresh);
  expect((await plain(gateway, {}, refresh)).text).toBe('new');
  old.release();
  await first;
  expect(await plain(gateway)).toEqual({ text: 'new', cache: 'hit' });
});
