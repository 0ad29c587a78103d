/**
 * Answers some questions itself, without asking a provider. In the YAML: `- {
 * use: ./examples/canned-answers.ts, with: { answers: { "ping": "pong" } } }`.
 */
import { definePlugin, EARLY, LATE, sourceOf } from 'model-gateway';
import type { Message, Usage } from 'model-gateway';

interface Options {
  answers: Record<string, string>;
}

const textOf = ({ content }: Message): string =>
  (typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join(' ')).trim().toLowerCase();

/**
 * The usage of a canned answer. Without it the gateway would estimate the
 * tokens, and charge the caller's budget with the price of the model.
 */
const noTokens: Usage = { input: 0, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: 0, reasoning: null };

const name = 'stream/canned-answers';

export default definePlugin<Options>({
  name,
  summary: 'answers some questions without a provider',
  schema: {
    type: 'object',
    additionalProperties: false,
    required: ['answers'],
    properties: {
      answers: {
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'Answers by question. A question is the whole text of the last message. Example: { "ping": "pong" }.',
      },
    },
  },
  fields: { canned: { kind: 'flag', description: 'The gateway gave the answer, and no provider was asked.' } },
  commands: [
    {
      name: 'canned',
      summary: 'list the canned answers',
      run: ({ options, print }) => {
        for (const [question, answer] of Object.entries(options.answers)) print(`${question}: ${answer}\n`);
      },
    },
  ],
  apply({ hooks }, options) {
    const known = new Map(Object.entries(options.answers).map(([question, answer]) => [question.trim().toLowerCase(), answer]));
    const answers = new WeakMap<object, string>();
    // before the plugins that let targets rest and limit them, because no provider is asked
    hooks.route.tap({ stage: LATE - 1 }, (candidates, context) => {
      const answer = known.get(textOf(context.request.messages.at(-1) ?? { role: 'user' }));
      if (answer === undefined || context.request.ask !== undefined) return candidates;
      answers.set(context, answer);
      return candidates.map((candidate) => (candidate.answeredBy === null ? { ...candidate, answeredBy: name } : candidate));
    });
    // before the plugins that ask providers
    hooks.open.tap({ stage: EARLY }, (context) => {
      const answer = answers.get(context);
      if (answer === undefined || context.attempt.candidate.answeredBy !== name) return undefined;
      return sourceOf([
        { type: 'text-delta', choice: 0, text: answer },
        { type: 'usage', usage: noTokens },
        { type: 'finish', choice: 0, reason: 'completed', native: null },
      ]);
    });
    hooks.settle.tap((record, { attempt }) =>
      attempt?.candidate.answeredBy === name ? { ...record, fields: { ...record.fields, canned: true } } : record,
    );
  },
});
