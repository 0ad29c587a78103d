/** Answers some questions itself, without asking a provider. In the YAML: `- { use: ./examples/canned-answers.ts, with: { answers: { "ping": "pong" } } }`. */
import { definePlugin, EARLY, sourceOf } from 'model-gateway';
import type { Message, Usage } from 'model-gateway';

interface Options {
  answers: Record<string, string>;
}

const textOf = ({ content }: Message): string => (typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join(' ')).trim().toLowerCase();

/** The usage of a canned answer. Without it the gateway would estimate the tokens, and charge the caller's budget with the price of the model. */
const noTokens: Usage = { input: 0, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: 0, reasoning: null };

export default definePlugin<Options>({
  name: 'stream/canned-answers',
  summary: 'answers some questions without a provider',
  schema: { type: 'object', additionalProperties: false, required: ['answers'], properties: { answers: { type: 'object', additionalProperties: { type: 'string' }, description: 'Answers by question. A question is the whole text of the last message. Example: { "ping": "pong" }.' } } },
  fields: { canned: { kind: 'flag', description: 'The gateway gave the answer, and no provider was asked.' } },
  commands: [{
    name: 'canned',
    summary: 'list the canned answers',
    run: ({ options, print }) => {
      for (const [question, answer] of Object.entries(options.answers)) print(`${question}: ${answer}\n`);
    },
  }],
  apply({ hooks }, { answers }) {
    const known = new Map(Object.entries(answers).map(([question, answer]) => [question.trim().toLowerCase(), answer]));
    const answered = new WeakSet<object>();
    // before the plugins that ask providers
    hooks.open.tap({ stage: EARLY }, (context) => {
      const answer = known.get(textOf(context.request.messages.at(-1) ?? { role: 'user' }));
      if (answer === undefined) return undefined;
      answered.add(context);
      return sourceOf([{ type: 'text-delta', choice: 0, text: answer }, { type: 'usage', usage: noTokens }, { type: 'finish', choice: 0, reason: 'completed', native: null }]);
    });
    hooks.settle.tap((record, context) => (answered.has(context) ? { ...record, fields: { ...record.fields, canned: true } } : record));
  },
});
