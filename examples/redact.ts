/** A plugin of one file: masks e-mail addresses in what callers send. In the YAML: `- ./examples/redact.ts`. */
import { definePlugin } from '../core/host/plugin.ts';

const name = 'normalise/redact';
const email = /[\w.+-]+@[\w-]+\.[\w.]+/g;

export default definePlugin({
  name,
  summary: 'masks e-mail addresses in messages',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    hooks.normalise.tap(name, (request) => ({
      ...request,
      messages: request.messages.map((message) => (typeof message.content === 'string' ? { ...message, content: message.content.replaceAll(email, '[email]') } : message)),
    }));
  },
});
