/** Claude Code and Codex as processes, in a folder of their own, with a file that the model tells them to change. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Call, Script } from '../../_kit/strict-vendors.ts';
import { run } from './tools.ts';
import type { Ran } from './tools.ts';

export interface Session {
  readonly command: string;
  /** The address of the gateway. */
  readonly url: string;
  readonly key: string;
  readonly model: string;
}

const before = 'colour: red\nsize: large\n';
const after = 'colour: blue\nsize: large\n';
const task = 'Make the colour blue in notes.txt.';

/** The calls that change the file, with the tools of each client. The first list whose tools the client has is used. */
const edits = (file: string): readonly (readonly Call[])[] => [
  [
    { name: 'Read', input: { file_path: file } },
    { name: 'Edit', input: { file_path: file, old_string: 'colour: red', new_string: 'colour: blue' } },
  ],
  [
    { name: 'exec_command', input: { cmd: 'cat notes.txt' } },
    {
      name: 'apply_patch',
      input: { input: '*** Begin Patch\n*** Update File: notes.txt\n@@\n-colour: red\n+colour: blue\n size: large\n*** End Patch\n' },
    },
  ],
  [
    { name: 'exec_command', input: { cmd: 'cat notes.txt' } },
    { name: 'exec_command', input: { cmd: "sed -i 's/colour: red/colour: blue/' notes.txt" } },
  ],
];

/** The folder of the session. It is made before the session, because Claude Code names files by their whole path. */
export const workspace = (): string => mkdtempSync(join(tmpdir(), 'gateway-client-'));

/** Reads the file, edits it, and reports that it is done. A question without tools, such as one for a title, is answered at once. */
export const editing =
  (folder: string): Script =>
  ({ tools, results }) => {
    const calls = edits(join(folder, 'work', 'notes.txt')).find((list) => list.every(({ name }) => tools.includes(name))) ?? [];
    return calls[results.length] ?? null;
  };

/** The fault; null: the file has the right text. */
async function worked(
  folder: string,
  start: (work: string, home: string) => Promise<Ran>,
): Promise<{ fault: string | null; seconds: number }> {
  const [work, home] = [join(folder, 'work'), join(folder, 'home')];
  for (const path of [work, home]) mkdirSync(path);
  const file = join(work, 'notes.txt');
  writeFileSync(file, before);
  const { code, stdout, stderr, seconds } = await start(work, home);
  const text = readFileSync(file, 'utf8');
  rmSync(folder, { recursive: true, force: true });
  if (code !== 0) return { fault: `ended with ${code}: ${(stderr || stdout).trim().slice(-300)}`, seconds };
  if (!stdout.includes('Done.')) return { fault: `did not print the answer: ${stdout.trim().slice(-300)}`, seconds };
  return { fault: text === after ? null : 'did not change the file', seconds };
}

export const runClaudeCode = (folder: string, { command, url, key, model }: Session): Promise<{ fault: string | null; seconds: number }> =>
  worked(folder, (work, home) =>
    run([command, '-p', task, '--allowedTools', 'Read,Edit', '--output-format', 'json'], {
      cwd: work,
      env: {
        HOME: home,
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    }),
  );

export const runCodex = (folder: string, { command, url, key, model }: Session): Promise<{ fault: string | null; seconds: number }> =>
  worked(folder, (work, home) => {
    const config = `model = "${model}"\nmodel_reasoning_effort = "medium"\nmodel_provider = "gateway"\napproval_policy = "never"\nsandbox_mode = "danger-full-access"\n[model_providers.gateway]\nname = "gateway"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "GATEWAY_KEY"\n`;
    writeFileSync(join(home, 'config.toml'), config);
    return run([command, 'exec', '--skip-git-repo-check', task], { cwd: work, env: { HOME: home, CODEX_HOME: home, GATEWAY_KEY: key } });
  });
