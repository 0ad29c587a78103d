/** `gateway import` with files: what it prints, which files it writes, and which it does not change. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { importConfig } from '../../../config/import/command.ts';
import { Exit, UsageError } from '../../../core/exit.ts';
import { folderOf } from '../folder.ts';
import { catalogue } from './scene.ts';

const yaml = 'model_list:\n  - model_name: chat\n    litellm_params: { model: groq/llama, api_key: gsk-SECRET, seed: 1 }\n';

function run(words: readonly string[], out: string | null = null): { printed: string; said: string } {
  const seen = { printed: '', said: '' };
  importConfig({ words, out, catalogue, print: (text) => void (seen.printed += text), say: (text) => void (seen.said += text) });
  return seen;
}

/** The error of the command. */
function faultOf(words: readonly string[], out: string | null = null): Exit {
  try {
    run(words, out);
  } catch (thrown) {
    if (thrown instanceof Exit) return thrown;
    throw thrown;
  }
  throw new Error('it threw nothing');
}

describe('gateway import', () => {
  test('prints the new config, and separately what is left to do', () => {
    const file = join(folderOf({ 'config.yaml': yaml }), 'config.yaml');
    const { printed, said } = run(['litellm', file]);
    expect(printed).toContain('groq: { api_key: "${GROQ_API_KEY}" }');
    expect(said).toBe(
      [
        '1 model at 1 provider.',
        'Set these variables:',
        `  GROQ_API_KEY: its value is in line 3 of ${file}`,
        'What was not imported, or is different here:',
        '  log/journal: LiteLLM keeps no prompts and answers in its log, so `bodies` is false here; true shows them on the dashboard',
        '  line 3: model_list[].litellm_params.seed: the gateway sets no parameters for its callers: let them send it, or set it in a plugin at `normalise`',
        '',
      ].join('\n'),
    );
    expect(printed + said).not.toContain('SECRET');
  });

  test('writes the config to the file of --out, and replaces no file', () => {
    const folder = folderOf({ 'config.yaml': yaml, 'there.yaml': 'mine' });
    expect(run(['litellm', join(folder, 'config.yaml')], join(folder, 'new.yaml'))).toMatchObject({ printed: '' });
    expect(readFileSync(join(folder, 'new.yaml'), 'utf8')).toContain('id: chat');
    const fault = faultOf(['litellm', join(folder, 'config.yaml')], join(folder, 'there.yaml'));
    expect([fault.code, fault.message]).toEqual([
      1,
      `${join(folder, 'there.yaml')} exists already, and is not changed. Name another file with --out.`,
    ]);
    expect(readFileSync(join(folder, 'there.yaml'), 'utf8')).toBe('mine');
  });

  test.each([
    [['helicone', 'config.yaml'], 'gateway import takes the config of litellm'],
    [['litellm'], 'name the config file'],
    [['portkey', 'a', 'b'], 'name the config file'],
    [[], 'gateway import needs the name of the other gateway, litellm or portkey'],
  ])('refuses %j', (words, message) => {
    const fault = faultOf(words);
    expect(fault).toBeInstanceOf(UsageError);
    expect(fault.message).toContain(message);
  });

  test.each([
    [
      'model_list:\n  - model_name: *\n',
      'config.yaml:2 is not valid YAML: put a value that begins with a special character, such as * or !, in quotes',
    ],
    [
      'a: b: c SECRET',
      'config.yaml:1 is not valid YAML: put a value with ": " in it in quotes, and begin the lines below in the column of their neighbours',
    ],
    ['{ "a": "SECRET"\n', 'config.yaml:2 is not valid YAML: close the { or [ above'],
    ['a: "SECRET\n', 'config.yaml:2 is not valid YAML: end the text with the quote that it begins with'],
    [
      'model_list:\n  - model_name: chat\n    litellm_params: { model: groq/llama, api_key: *SECRET }\n',
      'config.yaml:3 is not valid YAML: put a value that begins with a special character, such as * or !, in quotes',
    ],
    [
      'model_list: &all\n  - model_name: chat\n    litellm_params: &one { model: groq/llama, more: { of: [*one] } }\n  - *all\n',
      'config.yaml:3 is not a config: the alias *one stands inside the value that &one names, so that value has no end. Write out what is meant',
    ],
    [
      'a: &a\n  <<: *a\n',
      'config.yaml:2 is not a config: the alias *a stands inside the value that &a names, so that value has no end. Write out what is meant',
    ],
    ['- a', 'config.yaml is not a config: it has no map at its top'],
  ])('says what is wrong with %j, and does not quote it', (text, message) => {
    const folder = folderOf({ 'config.yaml': text });
    const fault = faultOf(['litellm', join(folder, 'config.yaml')], join(folder, 'new.yaml'));
    expect([fault.code, fault.message]).toEqual([1, join(folder, message)]);
    expect(existsSync(join(folder, 'new.yaml'))).toBe(false);
  });

  test.each([
    ['portkey', yaml, /config\.yaml looks like a config of LiteLLM: gateway import litellm .*config\.yaml$/],
    [
      'litellm',
      '{"strategy": {"mode": "fallback"}, "targets": [{"provider": "openai"}]}',
      /looks like a config of Portkey: gateway import portkey /,
    ],
    ['litellm', 'virtualKey: mine', /looks like a config of Portkey/],
    ['litellm', 'litellm_settings: { redis_password: SECRET }', /nothing to import/],
    ['litellm', 'model_list: []', /nothing to import/],
    [
      'litellm',
      'litellm_settings: { cache: true }\ngeneral_settings: { max_parallel_requests: 7 }',
      /config\.yaml has only settings \(litellm_settings, general_settings\): LiteLLM may have its models in another file or in its database\. List them under model_list/,
    ],
    ['portkey', '{"retry": {"attempts": 2}}', /nothing to import/],
  ])('as %s refuses %j, which has nothing for it, and writes nothing', (from, text, message) => {
    const folder = folderOf({ 'config.yaml': text });
    const fault = faultOf([from, join(folder, 'config.yaml')], join(folder, 'new.yaml'));
    expect([fault.code, fault.message]).toEqual([1, expect.stringMatching(message)]);
    expect(fault.message).not.toContain('SECRET');
    expect(existsSync(join(folder, 'new.yaml'))).toBe(false);
  });

  test('names a file that is not there', () => {
    expect(faultOf(['litellm', '/nowhere/config.yaml']).message).toContain('/nowhere/config.yaml cannot be read');
    const folder = folderOf({ 'config.yaml': `include: [away.yaml]\n${yaml}` });
    expect(faultOf(['litellm', join(folder, 'config.yaml')]).message).toContain(`${join(folder, 'away.yaml')} cannot be read`);
  });
});

describe('the files that a config of LiteLLM includes', () => {
  const entry = (name: string, more = '', vendor = 'groq'): string =>
    `  - { model_name: ${name}, litellm_params: { model: ${vendor}/${name}${more} } }\n`;
  const files = {
    'config.yaml': `include: [models/more.yaml, settings.yaml]\nmodel_list:\n${entry('one')}${entry('same')}litellm_settings: { fallbacks: [{ one: [three] }], drop_params: true }\n`,
    'models/more.yaml': `model_list:\n${entry('two', ', seed: 1')}${entry('same', ', api_key: csk-SECRET', 'cerebras')}include: [last.yaml, config.yaml]\n`,
    'settings.yaml': 'litellm_settings:\n  fallbacks: [{ one: [two] }]\n  newer: 1\n',
    'last.yaml': `model_list:\n${entry('three', ', top_k: 1')}`,
  };

  test('are read with it: lists are joined, and of other settings the last one counts', () => {
    const { printed } = run(['litellm', join(folderOf(files), 'config.yaml')]);
    expect(Array.from(printed.matchAll(/- id: (\w+)/g), ([, id]) => id)).toEqual(['one', 'same', 'two', 'three']);
    expect(printed).toContain('one: { fallbacks: [ two ]');
  });

  test('are read once, also with several spellings of their paths, and so is the config itself', () => {
    const folder = folderOf(files);
    const file = join(folder, 'config.yaml');
    const told = (text: string): string[] =>
      run(['litellm', text])
        .said.split('\n')
        .filter((line) => /seed|top_k|drop_params/.test(line));
    const once = told(file).length;
    expect(told(`${folder}/models/../config.yaml`)).toHaveLength(once);
    expect(told(`./${relative('.', file)}`)).toHaveLength(once);
    writeFileSync(
      join(folder, 'settings.yaml'),
      `include: ["${join(folder, 'last.yaml')}", "./../${basename(folder)}/models/more.yaml"]\n`,
    );
    expect(told(relative('.', file))).toHaveLength(once);
  });

  test('are named in the notes about them', () => {
    const folder = folderOf(files);
    const { printed, said } = run(['litellm', join(folder, 'config.yaml')]);
    expect(printed).toContain(`id: same   # line 4, line 3 of ${join(folder, 'models/more.yaml')};`);
    expect(printed).toContain(`api_key: "\${CEREBRAS_API_KEY}" }   # line 3 of ${join(folder, 'models/more.yaml')}`);
    expect(
      said
        .split('\n')
        .filter((line) => /seed|top_k|newer|its value/.test(line))
        .map((line) => line.split(': ').slice(0, 3).join(': ')),
    ).toEqual([
      `  CEREBRAS_API_KEY: its value is in line 3 of ${join(folder, 'models/more.yaml')}`,
      `  line 2: ${join(folder, 'models/more.yaml')}: model_list[].litellm_params.seed`,
      `  line 2: ${join(folder, 'last.yaml')}: model_list[].litellm_params.top_k`,
      `  line 3: ${join(folder, 'settings.yaml')}: litellm_settings.newer`,
    ]);
  });
});
