/// <reference types="node" preserve="true" />
/**
 * `model-gateway/testing`: tests of the contract of a plugin or a dialect, and a gateway and a provider to try it with. They run in
 * vitest, and need `vitest` and `fast-check` in the project that uses them.
 */
export { pluginContract } from './plugin.ts';
export type { PluginFacts } from './plugin.ts';
export { describeDialect, requestOf, targetOf, testKey } from './dialect.ts';
export type { DialectUnderTest, TargetWishes } from './dialect.ts';
export type { EventReader } from './recorded.ts';
export { oneUpstream, quietPlugins, readEvents, testGateway, twoUpstreams } from '../_kit/gateway.ts';
export type { Setup, TestGateway } from '../_kit/gateway.ts';
export { States } from '../../core/host/state.ts';
export { answers, completion, event, hangs, said, startUpstream, streams, usage } from '../_kit/upstream.ts';
export type { Asked, ScriptedUpstream, Step } from '../_kit/upstream.ts';
