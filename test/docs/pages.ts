/** The pages of the repository, their text and their code blocks. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every page, as a path from the root. */
export const pages: readonly string[] = globSync('**/*.md', {
  cwd: root,
  exclude: (name) => /^(?:node_modules|\.git|data|dist)$/.test(name) || /(?:^|\/)(?:node_modules|dist)$/.test(name),
}).toSorted();

export const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

export interface Block {
  readonly page: string;
  /** The line number of its first line, from 1. */
  readonly line: number;
  readonly language: string;
  /** The text after the language. */
  readonly word: string;
  readonly text: string;
}

/** The blocks of code of a page. */
export function blocksOf(page: string): Block[] {
  const text = textOf(page);
  return Array.from(text.matchAll(/^```(\w*) ?([^\n]*)\n([\s\S]*?)^```$/gm), ({ index, 1: language = '', 2: word = '', 3: code = '' }) => ({
    page,
    line: text.slice(0, index).split('\n').length + 1,
    language,
    word: word.trim(),
    text: code,
  }));
}

/** The text of a page without its code. */
export const proseOf = (text: string): string =>
  text.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/`[^`\n]+`/g, (code) => code.replaceAll(/[[\]()<>]/g, ' '));
