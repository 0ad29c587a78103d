/**
 * Whatever conversation a caller sends, its provider gets a request that it takes, or the caller gets a 400 and the provider nothing.
 * The providers of the five wire formats are asked through real sockets; `_kit/request-rules` has what each of them refuses.
 */
import { readdirSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { toOpaque } from '../../../core/wire/opaque.ts';
import type { ReasoningDetail } from '../../../core/chat.ts';
import { runs } from '../../_kit/fuzz.ts';
import { quietPlugins, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { anthropicRules } from '../../_kit/request-rules/anthropic.ts';
import { anyConversation } from '../../_kit/request-rules/any-conversation.ts';
import type { Conversation, Thought } from '../../_kit/request-rules/any-conversation.ts';
import { bedrockRules } from '../../_kit/request-rules/bedrock.ts';
import { geminiRules } from '../../_kit/request-rules/gemini.ts';
import { openaiChatRules } from '../../_kit/request-rules/openai-chat.ts';
import { openaiResponsesRules } from '../../_kit/request-rules/openai-responses.ts';
import { type Issuer, pens } from '../../_kit/request-rules/pens.ts';
import { brokenBy, type Rule } from '../../_kit/request-rules/rule.ts';
import { answers, startUpstream } from '../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../_kit/upstream.ts';

interface Wire {
  readonly provider: string;
  readonly dialect: string;
  readonly rules: readonly Rule[];
  /** The fields of a signed thought. */
  readonly state: (text: string) => Pick<ReasoningDetail, 'type'>;
}

const signed = (format: string) => (text: string) => ({ type: 'reasoning.text' as const, format, text, signature: 'c2ln' });

const wires: readonly Wire[] = [
  {
    provider: 'openai',
    dialect: 'openai',
    rules: openaiChatRules,
    state: () => ({ type: 'reasoning.encrypted', format: 'openai', data: 'c2ln' }),
  },
  {
    provider: 'openai',
    dialect: 'openai-responses',
    rules: openaiResponsesRules,
    state: (text) => ({ type: 'reasoning.encrypted', format: 'openai-responses', data: 'c2ln', summary: [text] }),
  },
  { provider: 'anthropic', dialect: 'anthropic', rules: anthropicRules, state: signed('anthropic-messages') },
  { provider: 'google', dialect: 'google', rules: geminiRules, state: signed('gemini') },
  { provider: 'bedrock', dialect: 'bedrock', rules: bedrockRules, state: signed('bedrock-converse') },
];

interface Mapped {
  readonly id: string;
  readonly externalId: string;
}

const catalogue = new URL('../../../config/catalogue/', import.meta.url);
const files = readdirSync(catalogue).filter((name) => name.endsWith('.yaml') && name !== 'mock.yaml');

interface Entry {
  readonly id: string;
  readonly deactivated_at?: string;
  readonly architecture?: { readonly output_modalities?: readonly string[] };
  readonly providers: readonly { readonly providerId: string; readonly externalId?: string; readonly dialect?: string }[];
}

const entries: readonly Entry[] = files.flatMap(
  (name) => (parse(readFileSync(new URL(name, catalogue), 'utf8')) as { models: Entry[] }).models,
);

/** Models that give text, and that no day is set for on which they end: the tests of the next year have the same models. */
const lasting = entries.filter(
  ({ deactivated_at: end, architecture }) => end === undefined && architecture?.output_modalities === undefined,
);

/** The models that the catalogue has for a provider in this wire format. */
const modelsOf = ({ provider, dialect: wanted }: Wire): readonly Mapped[] =>
  lasting.flatMap(({ id, providers }) =>
    providers
      .filter(({ providerId, dialect = providerId }) => providerId === provider && dialect === wanted)
      .map(({ externalId = id }) => ({ id, externalId })),
  );

const issuerOf = ({ provider, state }: Wire, { id, externalId }: Mapped): Issuer => {
  const detail = ({ text }: Thought, index: number): ReasoningDetail => ({ ...state(text), provider, model: externalId, index });
  return { model: `${provider}/${id}`, detail, opaque: (thought, index) => toOpaque(detail(thought, index), thought.text) };
};

let upstream: ScriptedUpstream;
let gateway: TestGateway;

beforeAll(async () => {
  upstream = await startUpstream(answers({ error: { message: 'seen' } }, { status: 400 }));
  const url = upstream.url;
  gateway = await testGateway({
    config: {
      // no provider rests, because a resting provider is not asked
      plugins: quietPlugins.filter((name) => name !== 'route/health'),
      providers: {
        openai: { base_url: url, api_key: 'k' },
        anthropic: { base_url: url, api_key: 'k' },
        google: { base_url: url, api_key: 'k' },
        bedrock: { base_url: url, api_key: 'k', region: 'us-east-1' },
      },
      include: files.map((name) => new URL(name, catalogue).pathname),
      routing: { default: { max_attempts: 1, retry: { same_target: 0 } } },
    },
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

/** Why a request that was not sent, or that was sent broken, is a fault; an empty list: it is none. */
async function faultsOf(wire: Wire, model: Mapped, door: keyof typeof pens, conversation: Conversation): Promise<readonly string[]> {
  const { path, body } = pens[door](conversation, issuerOf(wire, model));
  upstream.asked.length = 0;
  const reply = await gateway.post(body, { path });
  const text = await reply.text();
  if (upstream.asked.length === 0) return reply.status === 400 ? [] : [`not sent: ${reply.status} ${text}`];
  return upstream.asked.flatMap(({ json }) => brokenBy(wire.rules, { body: json, model: model.externalId }));
}

describe.each(wires)('$dialect', (wire) => {
  const models = modelsOf(wire);

  it.each(['chat', 'messages', 'responses'] as const)('gets requests that it takes from the endpoint %s', async (door) => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...models), anyConversation, async (model, conversation) => {
        expect(await faultsOf(wire, model, door, conversation)).toEqual([]);
      }),
      // fifteen tests share the requests of a fuzz run
      runs(100, 15),
    );
  });
});
