import { expect, test } from 'vitest';
import { doorNames, doorOf } from '../../../core/log/doors.ts';

const paths: [string, string][] = [
  ['/v1/chat/completions', 'chat'],
  ['/chat/completions', 'chat'],
  ['/openai/deployments/gpt-5/chat/completions', 'chat'],
  ['/v1/completions', 'completions'],
  ['/completions', 'completions'],
  ['/v1/messages', 'messages'],
  ['/messages', 'messages'],
  ['/v1/messages/count_tokens', 'count_tokens'],
  ['/v1/responses', 'responses'],
  ['/responses', 'responses'],
  ['/openai/responses', 'responses'],
  ['/v1/embeddings', 'embeddings'],
  ['/embeddings', 'embeddings'],
];

test.each(paths)('%s is the door %s', (path, door) => expect(doorOf(path)).toBe(door));

test('each door has a path', () => expect(new Set(paths.map(([, door]) => door))).toEqual(new Set(doorNames)));

test.each([
  '',
  '/',
  '/v1/chat',
  '/v2/messages',
  '/v1/messages/',
  '/v1/responses/resp_1',
  '/x/messages',
  '/v1/rerank',
  '/v1/chat/completions/x',
  '/%00/messages',
])('"%s" is not a door', (path) => expect(doorOf(path)).toBeNull());
