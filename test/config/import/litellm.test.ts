/** Configs of LiteLLM become configs of this gateway: what they say is said here, or listed with its line. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatProblems } from '../../../config/problems.ts';
import { example, examples, imported } from './scene.ts';

describe('every example', () => {
  test.each(readdirSync(examples).filter((name) => name.endsWith('.yaml')))('%s is imported, passes gateway check and shows no secret', async (name) => {
    const { loaded, text } = await imported(example(name), name === 'keys-and-budgets.yaml' ? example('keys.json') : null);
    if (process.env['SHOW']) console.log(text);
    expect(loaded.ok ? formatProblems(loaded.warnings, 'warning') : formatProblems(loaded.problems)).toBe(formatProblems([], 'warning'));
    expect(text).not.toContain('SECRET-');
  });
});
