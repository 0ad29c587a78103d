/** GET /v1/models: every field of the specification's model record and mapping record, and the query parameters. */
import { describe, expect, it } from 'vitest';
import { errorOf, gatewayOf } from '../../core/scene.ts';

const now = Date.parse('2026-01-01T00:00:00Z');

const full = {
  id: 'full',
  name: 'Full',
  aliases: ['full-2025'],
  created: 1_754_524_800,
  description: 'Everything said.',
  family: 'house',
  architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'], tokenizer: 'o200k' },
  top_provider: { is_moderated: true },
  pricing: {
    prompt: '0.00000125',
    completion: '0.00001',
    image: '0.001',
    per_second: { '720p': '0.1' },
    request: '0.01',
    input_cache_read: '0.000000125',
    input_cache_write: '0.000002',
    input_cache_write_1h: '0.000003',
    web_search: '0.01',
    internal_reasoning: '0.00001',
  },
  context_length: 400_000,
  per_request_limits: { prompt_tokens: '1000' },
  supported_parameters: ['temperature'],
  json_output: true,
  structured_outputs: true,
  free: false,
  deprecated_at: '2027-01-01T00:00:00Z',
  deactivated_at: '2028-01-01T00:00:00Z',
  stability: 'stable',
  providers: [
    {
      providerId: 'open',
      externalId: 'full-1',
      supportedVideoSizes: ['1280x720'],
      supportsVideoAudio: true,
      supportsVideoWithoutAudio: true,
      pricing: { prompt: '0.000001', completion: '0.000009', image: '0.002', per_second: { '720p': '0.2' } },
      streaming: true,
      vision: true,
      cancellation: true,
      tools: true,
      parallelToolCalls: true,
      reasoning: { efforts: ['low'], max_tokens: true, auto_effort: 'low' },
      stability: 'beta',
    },
    { providerId: 'trains', externalId: 'full-2' },
  ],
};

const bare = (id: string, more: object = {}): object => ({
  id,
  pricing: { prompt: '0.1', completion: '0.2' },
  providers: [{ providerId: 'unsaid', externalId: id }],
  ...more,
});

const dialect = { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' };

const catalogue = async (query = '', more: object = {}) => {
  const { get } = await gatewayOf(
    {
      providers: {
        open: { ...dialect, trains_on_data: false },
        trains: { ...dialect, trains_on_data: true },
        unsaid: dialect,
        off: { ...dialect, api_key: '${KEY_THAT_IS_NOT_SET}', trains_on_data: false },
      },
      models: [
        full,
        bare('bare'),
        bare('deprecated', { deprecated_at: '2025-06-01T00:00:00Z' }),
        bare('deactivated', { deactivated_at: '2025-06-01T00:00:00Z' }),
      ],
      ...more,
    },
    { clock: () => now },
  );
  const response = await get(`/v1/models${query}`);
  const body = (await response.json()) as { object: string; data: Record<string, any>[] };
  return { get, response, body, ids: body.data?.map(({ id }) => id as string) };
};

describe('the model record', () => {
  it('has every field, as in the catalogue', async () => {
    const { body } = await catalogue();
    const { providers: _, ...fields } = full;
    expect(body.data[0]).toMatchObject(fields);
  });

  it('has the most tokens of an answer where the catalogue knows them', async () => {
    const { get } = await catalogue('', { models: [{ ...full, max_output_tokens: 64_000 }, bare('bare')] });
    const recordOf = async (id: string): Promise<unknown> => await (await get(`/v1/models/${id}`)).json();
    expect(await recordOf('full')).toHaveProperty('max_output_tokens', 64_000);
    expect(await recordOf('bare')).not.toHaveProperty('max_output_tokens');
  });

  it('of a policy has the dates of the model that stays longest', async () => {
    const until = (date: string): object => ({ deprecated_at: `${date}T00:00:00Z`, deactivated_at: `${date}T00:00:00Z` });
    const { get } = await catalogue('', {
      models: [bare('one', until('2026-06-01')), bare('two', until('2026-08-01'))],
      routing: { models: { auto: { candidates: ['one', 'two'] } } },
    });
    expect(await (await get('/v1/models/auto')).json()).toMatchObject(until('2026-08-01'));
  });

  it('has the two fields without which clients of OpenRouter refuse it', async () => {
    const { body } = await catalogue();
    expect(body.data[0]).toMatchObject({ canonical_slug: 'full', architecture: { modality: 'text+image->text' } });
  });

  it('has the type of the specification for each field that the catalogue does not set', async () => {
    const { body } = await catalogue();
    expect(body.data.find(({ id }) => id === 'bare')).toMatchObject({
      id: expect.any(String),
      name: expect.any(String),
      aliases: [],
      created: expect.any(Number),
      description: expect.any(String),
      family: expect.any(String),
      architecture: { input_modalities: expect.any(Array), output_modalities: expect.any(Array), tokenizer: expect.any(String) },
      top_provider: { is_moderated: expect.any(Boolean) },
      providers: [expect.any(Object)],
      pricing: { prompt: '0.1', completion: '0.2' },
      context_length: expect.any(Number),
      per_request_limits: {},
      supported_parameters: expect.any(Array),
      json_output: expect.any(Boolean),
      structured_outputs: expect.any(Boolean),
      free: false,
      stability: expect.any(String),
    });
  });

  it('has no unknown date', async () => {
    const { body } = await catalogue();
    const record = body.data.find(({ id }) => id === 'bare');
    expect([record !== undefined && 'deprecated_at' in record, record !== undefined && 'deactivated_at' in record]).toEqual([false, false]);
  });

  it('has every price as text', async () => {
    const { body } = await catalogue();
    for (const { pricing } of body.data) {
      for (const [name, price] of Object.entries(pricing as object)) if (name !== 'per_second') expect(price).toEqual(expect.any(String));
    }
  });

  it('shows no fields that only routing needs', async () => {
    const text = JSON.stringify((await catalogue()).body);
    expect(text).not.toMatch(/auto_effort|think_tags|"dialect"|api_key|127\.0\.0\.1/);
  });
});

describe('the mapping record', () => {
  it('has every field, reasoning as a boolean', async () => {
    const { body } = await catalogue();
    expect(body.data[0]?.['providers'][0]).toEqual({ ...full.providers[0], reasoning: true });
  });

  it('has the type of the specification for each field that the catalogue does not set', async () => {
    const { body } = await catalogue();
    expect(body.data[0]?.['providers'][1]).toEqual({
      providerId: 'trains',
      externalId: 'full-2',
      supportedVideoSizes: [],
      supportsVideoAudio: expect.any(Boolean),
      supportsVideoWithoutAudio: expect.any(Boolean),
      pricing: { prompt: '0.00000125', completion: '0.00001', image: '0.001', per_second: { '720p': '0.1' } },
      streaming: expect.any(Boolean),
      vision: expect.any(Boolean),
      cancellation: expect.any(Boolean),
      tools: expect.any(Boolean),
      parallelToolCalls: expect.any(Boolean),
      reasoning: false,
      stability: 'stable',
    });
  });

  it.each([
    { tiers: [{ above: 200_000, prompt: '0.000006', completion: '0.0000225' }] },
    { peak: { hours: ['01:00-04:00'], weekdays: true, prompt: '0.000002' } },
  ])('has the prices that change: %j', async (more) => {
    const pricing = { prompt: '0.000001', completion: '0.000002', ...more };
    const { url } = await gatewayOf({
      providers: { up: { dialect: 'mock' } },
      models: [{ id: 'm', pricing, providers: [{ providerId: 'up' }] }],
    });
    expect(await (await fetch(`${url}/v1/models/m`)).json()).toMatchObject({ providers: [{ pricing: { ...pricing } }] });
  });
});

describe('the list', () => {
  it('is an object with data', async () => {
    const { response, body } = await catalogue();
    expect([response.status, response.headers.get('content-type'), body.object]).toEqual([200, 'application/json', 'list']);
  });

  it.each<[string, string[]]>([
    ['', ['full', 'bare', 'deprecated']],
    ['?include_deactivated=true', ['full', 'bare', 'deprecated', 'deactivated']],
    ['?include_deactivated=1', ['full', 'bare', 'deprecated', 'deactivated']],
    ['?include_deactivated=false', ['full', 'bare', 'deprecated']],
    ['?include_deactivated=0', ['full', 'bare', 'deprecated']],
    ['?include_deactivated=True', ['full', 'bare', 'deprecated', 'deactivated']],
    ['?include_deactivated=true&include_deactivated=1', ['full', 'bare', 'deprecated', 'deactivated']],
    ['?exclude_deprecated=true', ['full', 'bare']],
    ['?exclude_deprecated=true&include_deactivated=true', ['full', 'bare', 'deactivated']],
    ['?no_training=true', ['full']],
    ['?no_training=false', ['full', 'bare', 'deprecated']],
    ['?nonsense=true', ['full', 'bare', 'deprecated']],
  ])('with %s has %s', async (query, wanted) => {
    expect((await catalogue(query)).ids).toEqual(wanted);
  });

  it('is refused with an invalid filter, because it would show too many models', async () => {
    const { get } = await catalogue();
    for (const [query, param] of [
      ['?no_training=yes', 'no_training'],
      ['?no_training', 'no_training'],
      ['?no_training=', 'no_training'],
      ['?no_training=false&no_training=true', 'no_training'],
      ['?exclude_deprecated=2', 'exclude_deprecated'],
      ['?include_deactivated=on', 'include_deactivated'],
      ['?include_unavailable=all', 'include_unavailable'],
      ['?no-training=true', 'no-training'],
      ['?noTraining=true', 'noTraining'],
      ['?no_trainning=true', 'no_trainning'],
    ]) {
      const response = await get(`/v1/models${query}`);
      expect([response.status, await errorOf(response)]).toMatchObject([400, { code: 'invalid_value', param }]);
      expect((await get(`/v1/models${query}`, { 'anthropic-version': '2023-06-01' })).status).toBe(400);
    }
  });

  it('with no_training has no mapping that trains, or whose training is unknown', async () => {
    const { body } = await catalogue('?no_training=true');
    expect(body.data.flatMap(({ providers }) => (providers as { providerId: string }[]).map(({ providerId }) => providerId))).toEqual([
      'open',
    ]);
  });
});

const priced = { pricing: { prompt: '0.1', completion: '0.2' } };
/** Models and policies, of which some have only a provider that cannot be used. */
const house = {
  models: [
    {
      id: 'on',
      ...priced,
      context_length: 100,
      providers: [
        { providerId: 'open', externalId: 'on-1', vision: true },
        { providerId: 'off', externalId: 'on-2' },
      ],
    },
    {
      id: 'dark',
      ...priced,
      context_length: 900,
      created: 5,
      architecture: { input_modalities: ['text', 'audio'] },
      providers: [{ providerId: 'off', externalId: 'dark-1' }],
    },
    { id: 'greedy', ...priced, providers: [{ providerId: 'trains', externalId: 'greedy-1' }] },
  ],
  routing: {
    models: {
      auto: { candidates: ['on', 'dark'], strategy: 'ordered' },
      mixed: { candidates: ['on', 'greedy'] },
      ruled: { candidates: ['on'], rules: [{ when: { stream: true }, candidates: ['greedy'] }] },
      nowhere: { candidates: ['dark'] },
      on: { strategy: 'cheapest' },
    },
  },
};

describe('a model that cannot be used now', () => {
  it.each<[string, string[]]>([
    ['', ['auto', 'mixed', 'ruled', 'on', 'greedy']],
    ['?include_unavailable=false', ['auto', 'mixed', 'ruled', 'on', 'greedy']],
    ['?include_unavailable=true', ['auto', 'mixed', 'ruled', 'nowhere', 'on', 'dark', 'greedy']],
    ['?no_training=true', ['auto', 'on']],
    ['?no_training=true&include_unavailable=true', ['auto', 'nowhere', 'on', 'dark']],
  ])('is left out, except with include_unavailable: %s', async (query, wanted) => {
    expect((await catalogue(query, house)).ids).toEqual(wanted);
  });

  it('is still found by its id', async () => {
    expect(await (await (await catalogue('', house)).get('/v1/models/dark')).json()).toMatchObject({
      id: 'dark',
      providers: [{ externalId: 'dark-1' }],
    });
  });
});

it('a provider that cannot be used is left out of its model', async () => {
  const providers = async (query: string): Promise<string[]> =>
    (await catalogue(query, house)).body.data
      .find(({ id }) => id === 'on')
      ?.['providers'].map(({ externalId }: { externalId: string }) => externalId);
  expect([await providers(''), await providers('?include_unavailable=true')]).toEqual([['on-1'], ['on-1', 'on-2']]);
});

it('a policy is a model with the providers of all its candidates, and the capabilities of any of them', async () => {
  const { get, body } = await catalogue('?include_unavailable=true', house);
  const auto = body.data.find(({ id }) => id === 'auto');
  expect(auto).toMatchObject({
    id: 'auto',
    name: 'auto',
    aliases: [],
    object: 'model',
    description: expect.stringContaining('on, dark'),
    created: 5,
    context_length: 900,
    pricing: {},
    free: false,
    architecture: { input_modalities: ['text', 'audio'], output_modalities: ['text'], tokenizer: 'other' },
    providers: [{ externalId: 'on-1', pricing: priced.pricing }, { externalId: 'on-2' }, { externalId: 'dark-1' }],
  });
  expect(await (await get('/v1/models/auto')).json()).toEqual(auto);
  expect(await (await get('/v1/models/auto', { 'anthropic-version': '2023-06-01' })).json()).toMatchObject({ type: 'model', id: 'auto' });
});

describe('one model', () => {
  it.each(['full', 'full-2025', 'trains/full', 'open/full-2025'])('is found as %s', async (name) => {
    const { get, body } = await catalogue();
    expect(await (await get(`/v1/models/${name}`)).json()).toEqual(body.data[0]);
  });

  it.each(['unsaid/full', 'nobody/full', 'full/full'])('is not found as %s, a provider that does not serve it', async (name) => {
    expect((await (await catalogue()).get(`/v1/models/${name}`)).status).toBe(404);
  });

  it('that is misspelt is 404, with a suggestion', async () => {
    const { get } = await catalogue();
    const response = await get('/v1/models/ful');
    expect([response.status, await errorOf(response)]).toMatchObject([
      404,
      { code: 'model_not_found', param: 'model', message: expect.stringContaining('Did you mean "full"') },
    ]);
  });

  it('may be asked for by HEAD', async () => {
    const { ask } = await gatewayOf({ providers: { unsaid: dialect }, models: [bare('bare')] });
    const response = await ask('/v1/models/bare', { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
  });
});

describe('GET /v1/models with anthropic-version', () => {
  const asked = async (query = '', path = '/v1/models') => {
    const { get } = await catalogue();
    const response = await get(`${path}${query}`, { 'anthropic-version': '2023-06-01' });
    return { status: response.status, id: response.headers.get('x-request-id'), body: (await response.json()) as Record<string, any> };
  };

  it('gives the models in the form of the Messages API', async () => {
    const { body } = await asked();
    expect(body).toMatchObject({ has_more: false, first_id: 'full', last_id: 'deprecated' });
    const unknown = { capabilities: null, line: null };
    expect(body['data'][0]).toEqual({
      type: 'model',
      id: 'full',
      display_name: 'Full',
      created_at: '2025-08-07T00:00:00.000Z',
      lifecycle: 'active',
      deprecated_at: null,
      retires_at: null,
      max_input_tokens: 400_000,
      max_tokens: null,
      ...unknown,
    });
  });

  it('has null for a context that the config does not give', async () => {
    expect((await asked('', '/v1/models/bare')).body).toMatchObject({ id: 'bare', max_input_tokens: null });
  });

  it('says which models are deprecated, and which are gone', async () => {
    const { get } = await catalogue('', {
      models: [
        bare('old', { deprecated_at: '2025-06-01', deactivated_at: '2027-01-01T00:00:00Z' }),
        bare('gone', { deactivated_at: '2025-06-01T00:00:00Z' }),
      ],
    });
    const body = (await (await get('/v1/models?include_deactivated=true', { 'anthropic-version': '2023-06-01' })).json()) as {
      data: object[];
    };
    expect(body.data).toMatchObject([
      { id: 'old', lifecycle: 'deprecated', deprecated_at: '2025-06-01T00:00:00.000Z', retires_at: '2027-01-01T00:00:00.000Z' },
      { id: 'gone', lifecycle: 'retired', deprecated_at: null, retires_at: '2025-06-01T00:00:00.000Z' },
    ]);
  });

  it.each([
    ['', ['new', 'old']],
    ['?lifecycle[]=retired', ['gone']],
    ['?lifecycle%5B%5D=active&lifecycle%5B%5D=retired', ['new', 'gone']],
    ['?lifecycle=deprecated', ['old']],
    ['?lifecycle[]=active&limit=1', ['new']],
  ])('gives the models of the stages in %s', async (query, ids) => {
    const { get } = await catalogue('', {
      models: [bare('new'), bare('old', { deprecated_at: '2025-06-01' }), bare('gone', { deactivated_at: '2025-06-01T00:00:00Z' })],
    });
    const body = (await (await get(`/v1/models${query}`, { 'anthropic-version': '2023-06-01' })).json()) as {
      data: { id: string }[];
      has_more: boolean;
    };
    expect([body.data.map(({ id }) => id), body.has_more]).toEqual([ids, false]);
  });

  it.each([
    ['?limit=1', ['full'], true],
    ['?limit=1&after_id=full', ['bare'], true],
    ['?limit=2&after_id=full', ['bare', 'deprecated'], false],
    ['?after_id=deprecated', [], false],
    ['?limit=1&before_id=deprecated', ['bare'], true],
    ['?limit=2&before_id=deprecated', ['full', 'bare'], false],
    ['?before_id=full', [], false],
    ['?no_training=true', ['full'], false],
  ])('gives the page %s', async (query, ids, more) => {
    const { body } = await asked(query);
    expect([body['data'].map((model: any) => model.id), body['has_more'], body['first_id'], body['last_id']]).toEqual([
      ids,
      more,
      ids[0] ?? null,
      ids.at(-1) ?? null,
    ]);
  });

  it.each([
    ['?limit=0', 400],
    ['?limit=1001', 400],
    ['?limit=x', 400],
    ['?after_id=none', 400],
    ['?before_id=none', 400],
    ['?lifecycle[]=new', 400],
  ])('refuses %s in its form', async (query, status) => {
    const reply = await asked(query);
    expect([reply.status, reply.body]).toEqual([
      status,
      { type: 'error', error: { type: 'invalid_request_error', message: expect.any(String) }, request_id: reply.id },
    ]);
  });

  it('gives one model, also by an alias, and 404 for an unknown one', async () => {
    expect((await asked('', '/v1/models/full-2025')).body).toMatchObject({ type: 'model', id: 'full' });
    const { status, body } = await asked('', '/v1/models/none');
    expect([status, body['error'].type]).toEqual([404, 'not_found_error']);
  });
});
