import { describe, expect, test } from 'vitest';
import type { ChatRequest, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { withOwnReasoning } from '../../../core/wire/native.ts';

const target = { provider: { account: 'a#1' }, mapping: { externalId: 'm-1' } } as Target;
const detail = (more: object): ReasoningDetail => ({ type: 'reasoning.encrypted', data: 'x', ...more });
const asked = (...details: unknown[]): ChatRequest =>
  ({
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Yes', reasoning: 'because', reasoning_details: details as ReasoningDetail[] },
    ],
  }) as unknown as ChatRequest;

describe('reasoning state', () => {
  test('is sent to its own account and model in an unchanged request', () => {
    const request = asked(detail({ provider: 'a#1', model: 'm-1' }), detail({ provider: 'a#1' }));
    expect(withOwnReasoning(request, target)).toEqual({ request, adjustments: [] });
    expect(withOwnReasoning(request, target).request).toBe(request);
  });

  test.each<[string, unknown]>([
    ['another account', detail({ provider: 'a#2', model: 'm-1' })],
    ['another model', detail({ provider: 'a#1', model: 'm-2' })],
    ['an unknown issuer', detail({})],
    ['null in place of a detail', null],
  ])('of %s is left out and named, and the text stays', (_, foreign) => {
    const own = detail({ provider: 'a#1', model: 'm-1', data: 'own' });
    const { request, adjustments } = withOwnReasoning(asked(foreign, own), target);
    expect(request.messages[1]).toEqual({ role: 'assistant', content: 'Yes', reasoning: 'because', reasoning_details: [own] });
    expect(adjustments).toEqual([{ parameter: 'messages.reasoning', change: 'left out: issued by another provider or model' }]);
    expect(withOwnReasoning(asked(foreign), target).request.messages[1]).not.toHaveProperty('reasoning_details');
  });
});
