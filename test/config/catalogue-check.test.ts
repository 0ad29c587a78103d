/** The check of the catalogue: prices that differ from other sources, and from the bills of vendors. */
import { describe, expect, test } from 'vitest';
import { catalogueFiles } from '../../schemas/catalogue/build.ts';
import { type Billed, driftOfBills, driftOfPrices } from '../../schemas/catalogue/check.ts';

describe('prices', () => {
  test('of the catalogue are those of other sources', () => {
    expect([...catalogueFiles().values()].flatMap(driftOfPrices)).toEqual([]);
  });

  test('that differ are named with both values, for the model and for a provider', () => {
    const text = `models:
  - id: gpt-5
    pricing: { prompt: "0.000009", completion: "0.00001", input_cache_read: "0.000000125", web_search: "0.01", image: "0.1" }
    context_length: 400000
    providers:
      - { providerId: openai }
      - { providerId: openrouter, externalId: openai/gpt-5, pricing: { prompt: "0.000001" } }
`;
    expect(driftOfPrices(text)).toEqual(
      expect.arrayContaining([
        { price: 'gpt-5 prompt', here: '0.000009', there: '0.00000125' },
        { price: 'gpt-5 openrouter', here: '{"prompt":"0.000001"}', there: 'none' },
      ]),
    );
    expect(driftOfPrices(text).map(({ price }) => price)).not.toContain('gpt-5 image');
  });
});

const answer = (cost: string | null, providerCost: string | null, more: Partial<Billed> = {}): Billed => ({
  model: 'gpt-5',
  provider: 'reseller',
  cost,
  costIsUpperBound: false,
  providerCost,
  attempts: [{}],
  ...more,
});

describe('the bills of vendors', () => {
  test('may differ by rounding', () => {
    expect(driftOfBills([answer('0.0010001', '0.001'), answer('1', '1.009')])).toEqual({ compared: 2, drifted: [] });
  });

  test('are compared by sums, for each model at each provider', () => {
    const { drifted } = driftOfBills([
      answer('1', '1.5'),
      answer('1', '0.9'),
      answer('2', '2', { provider: 'other' }),
      answer('3', '2', { model: 'o3' }),
    ]);
    expect(drifted).toEqual([
      { name: 'gpt-5 reseller', answers: 2, unknown: 0, here: 2, charged: 2.4 },
      { name: 'o3 reseller', answers: 1, unknown: 0, here: 3, charged: 2 },
    ]);
  });

  test('are not compared with upper bounds, lost attempts and answers without a bill', () => {
    expect(
      driftOfBills([answer('5', '1', { costIsUpperBound: true }), answer('5', '1', { attempts: [{ used: {} }, {}] }), answer('5', null)]),
    ).toEqual({ compared: 0, drifted: [] });
  });

  test('are listed where the cost is not known here', () => {
    expect(driftOfBills([answer(null, '1'), answer('2', '2')]).drifted).toEqual([
      { name: 'gpt-5 reseller', answers: 2, unknown: 1, here: 2, charged: 2 },
    ]);
  });
});
