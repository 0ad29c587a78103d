/** Links between the pages: the linked file exists, and so does the heading. Addresses of the web are not requested. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages, proseOf, root, textOf } from './pages.ts';

const linksOf = (page: string): string[] =>
  Array.from(
    proseOf(textOf(page)).matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)|^\[[^\]]+\]: (\S+)/gm),
    ([, inline, reference]) => inline ?? reference ?? '',
  );

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');

function anchorsOf(page: string): Set<string> {
  const text = textOf(page).replaceAll(/^```[\s\S]*?^```$/gm, '');
  const found = new Set<string>(Array.from(text.matchAll(/<a (?:id|name)="([^"]+)"/g), ([, name = '']) => name));
  for (const [, heading = ''] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const base = anchorOf(heading);
    let name = base;
    for (let again = 1; found.has(name); again++) name = `${base}-${again}`;
    found.add(name);
  }
  return found;
}

function faultOf(page: string, link: string): string | null {
  const [path = '', anchor = ''] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path)));
  if (target.startsWith('..') || !existsSync(join(root, target))) return `${page}: there is no ${link}`;
  if (anchor === '' || !target.endsWith('.md')) return null;
  if (statSync(join(root, target)).isDirectory()) return `${page}: ${link} has an anchor in a folder`;
  return anchorsOf(target).has(anchor) ? null : `${page}: ${target} has no heading for #${anchor}`;
}

describe('the pages', () => {
  it('link only to files and headings that exist', () => {
    const local = pages.flatMap((page) =>
      linksOf(page)
        .filter((link) => !/^[a-z][a-z+.-]*:/i.test(link))
        .map((link) => ({ page, link })),
    );
    expect(local.length).toBeGreaterThan(100);
    expect(local.flatMap(({ page, link }) => faultOf(page, link) ?? [])).toEqual([]);
  });

  it('are each linked from another page', () => {
    const linked = new Set(
      pages.flatMap((page) =>
        linksOf(page).map((link) => normalize(join(dirname(page), decodeURIComponent(link.split('#')[0] ?? ''))).replace(/\/$/, '')),
      ),
    );
    const isLinked = (page: string): boolean => linked.has(page) || (page.endsWith('/README.md') && linked.has(dirname(page)));
    expect(pages.filter((page) => page !== 'README.md' && !isLinked(page))).toEqual([]);
  });
});
