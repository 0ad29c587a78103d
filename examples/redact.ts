/**
 * Masks e-mail addresses in the messages of callers and the answers of models, also in streams, where
 * an address may come in two pieces. Arguments of tool calls, citations and the inputs of embeddings
 * do not change. In the YAML: `- ./examples/redact.ts`, before plugins that refuse requests.
 */
import { definePlugin, rewriteText } from 'model-gateway';
import type { ChatRequest, TextRewriter } from 'model-gateway';

/**
 * safety: the name in an address has at most 64 characters (RFC 5321).
 * Without this limit, a message of one word of 200,000 letters takes 20 s.
 */
const email = /[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+/g;
const mask = (text: string): string => text.replaceAll(email, '[email]');

/** Matches the end of a text that may be the beginning of an address. No address is longer than 254 characters. */
const maybeAddress = /[\w.+@-]{1,254}$/;

class EmailMask implements TextRewriter {
  #held = '';

  push(piece: string): string {
    const text = this.#held + piece;
    this.#held = maybeAddress.exec(text)?.[0] ?? '';
    return mask(text.slice(0, text.length - this.#held.length));
  }

  end(): string {
    return mask(this.#held);
  }
}

const maskedContent = (content: ChatRequest['messages'][number]['content']): typeof content =>
  typeof content === 'string'
    ? mask(content)
    : (content?.map((part) => (typeof part.text === 'string' ? { ...part, text: mask(part.text) } : part)) ?? content);

export default definePlugin({
  name: 'stream/redact',
  summary: 'masks e-mail addresses in messages and answers',
  apply({ hooks }) {
    hooks.normalise.tap((request) => ({
      ...request,
      messages: request.messages.map((message) => ({ ...message, content: maskedContent(message.content) ?? null })),
    }));
    hooks.opened.tap((source) => rewriteText(source, () => new EmailMask()));
    // the log probabilities contain the text, token by token
    hooks.chunk.tap((chunk) => (chunk.type === 'extra' && chunk.field === 'logprobs' ? null : chunk));
  },
});
