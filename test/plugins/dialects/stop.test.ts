/** More stop sequences than a provider takes. */
import { describe, expect, it } from 'vitest';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import anthropic from '../../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../../plugins/dialects/bedrock/index.ts';
import gemini from '../../../plugins/dialects/gemini/index.ts';
import openaiChat from '../../../plugins/dialects/openai-chat/index.ts';
import { requestOf, targetOf } from '../../contract/dialect.ts';

const plugins: readonly AnyPlugin[] = [anthropic, bedrock, gemini, openaiChat];
const dialects: ReadonlyMap<string, Dialect> = new Map(
  plugins.flatMap(({ dialects: all = [] }) => all.map((dialect) => [dialect.name, dialect])),
);

const sequences = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `END${at}`);

const sent = (name: string, stop: readonly string[]): any =>
  JSON.parse((dialects.get(name) as Dialect).encode(requestOf({ stop }), targetOf(name, { externalId: 'model' })).body);

describe.each([
  ['openai', 4],
  ['azure', 4],
  ['groq', 4],
  ['deepseek', 16],
  ['google', 5],
  ['vertex', 5],
])('stop sequences for %s', (name, most) => {
  it(`are sent up to ${most}`, () => {
    const { stop, generationConfig } = sent(name, sequences(most));
    expect(stop ?? generationConfig.stopSequences).toEqual(sequences(most));
  });

  it('are refused beyond that: without the rest, the answer would run past its stop', () => {
    const wanted = { code: 'unsupported_value', param: 'stop', message: expect.stringContaining(`at most ${most} stop sequences`) };
    expect(() => sent(name, sequences(most + 1))).toThrow(expect.objectContaining(wanted));
  });
});

it.each(['anthropic', 'bedrock', 'openai-chat', 'vllm'])(
  'any number of stop sequences is sent to %s, whose limit is higher or unknown',
  (name) => {
    const { stop, stop_sequences: ofMessages, inferenceConfig } = sent(name, sequences(20));
    expect(stop ?? ofMessages ?? inferenceConfig.stopSequences).toEqual(sequences(20));
  },
);

it.each(['google', 'vertex'])('no list of stop sequences is sent to %s where it is empty', (name) => {
  expect(sent(name, [])).not.toHaveProperty('generationConfig');
});
