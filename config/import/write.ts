/** Writes a draft as a config file. The parts without a counterpart are listed at its top. */
import { Document, isCollection, isScalar, visit } from 'yaml';
import type { Draft, Item, Note } from './draft.ts';
import { printable, printableJson } from '../../core/table.ts';
import { packageFolder } from '../../core/version.ts';

export interface Origin {
  /** The gateway that the file is from, as people write it. */
  readonly of: string;
  /** The command that made the new file. */
  readonly command: string;
}

/** The text of the new file. @param plugins all plugins that ship, in their order */
export function draftText(draft: Draft, { of, command }: Origin, plugins: readonly string[]): string {
  const { server, keys, providers, models, limits, redis } = draft;
  const blocks = [
    block(
      'server',
      Object.entries(server).map(([name, value]) => `  ${name}: ${flow(value)}`),
    ),
    block('keys', keys.map(listed)),
    block(
      'providers',
      [...providers].map(([id, { value, remark }]) => `  ${flow(id)}: ${flow(value)}${comment(remark)}`),
    ),
    ...(draft.includes
      ? [
          '# A wildcard opens every model of the providers above: the prices and abilities of the models are those of the catalogue.\ninclude:\n  - model-gateway/config/catalogue/*.yaml',
        ]
      : []),
    block('models', [...models.values()].map(modelText)),
    routingText(draft),
    block('limits', limits.map(listed)),
    redis === null ? null : `redis: ${flow({ url: redis })}`,
    block(
      'plugins',
      plugins.map((name) => `  - ${pluginText(name, draft.options.get(name))}`),
    ),
  ].filter((text) => text !== null);
  return `${[header(draft, { of, command }), ...blocks].join('\n\n')}\n`;
}

function header(draft: Draft, { of, command }: Origin): string {
  const sections = [
    section('Set these variables, in the environment or in .env beside this file:', secretLines(draft)),
    section(`What was not imported from ${draft.source.name}, or is different here:`, noteLines(draft.notes)),
  ];
  const lines = [
    `yaml-language-server: $schema=${packageFolder}/schemas/gateway.schema.json`,
    '',
    `Made from ${draft.source.name} of ${of} by \`${command}\`. To check it: gateway check --config FILE`,
    ...sections.filter(({ length }) => length > 0).flatMap((one) => ['', ...one]),
  ];
  return lines.map((line) => `# ${line}`.trimEnd()).join('\n');
}

/**
 * A heading with the lines below it; nothing where there are none.
 * safety: the lines quote names, which users of the other gateway gave to their keys; a name
 * with a line break would end the comment, and the rest of the name would be a setting.
 */
export const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [heading, ...lines.map((line) => `  ${printable(line)}`)];

/** One line for each variable that must be set, without its value. */
export const secretLines = ({ secrets }: Draft): string[] =>
  Array.from(secrets, ([name, { file, line }]) => `${name}: its value is in line ${line} of ${file}`);

/** One line for each note, in the order of the other file. A note that many entries share is one line. */
export function noteLines(notes: readonly Note[]): string[] {
  const sorted = notes.toSorted((a, b) => a.line - b.line);
  const groups = Map.groupBy(sorted, ({ what, todo }) => `${what.replace(/\bmodel_list\[\d+\]/, 'model_list[]')}: ${todo}`);
  return [...groups].map(([text, same]) => (same[0]?.line === 0 ? text : `line ${linesOf(same)}: ${text}`));
}

const mostLines = 5;

function linesOf(notes: readonly Note[]): string {
  const lines = [...new Set(notes.map(({ line }) => line))];
  return lines.length > mostLines ? `${lines.slice(0, mostLines).join(', ')} and ${lines.length - mostLines} more` : lines.join(', ');
}

const block = (name: string, lines: readonly string[]): string | null => (lines.length === 0 ? null : [`${name}:`, ...lines].join('\n'));

const comment = (remark: string): string => (remark === '' ? '' : `   # ${printable(remark)}`);

const listed = ({ value, remark }: Item): string => `  - ${flow(value)}${comment(remark)}`;

function modelText({ value: { providers, ...facts }, remark }: Item): string {
  const [first, ...others] = Object.entries(facts).map(([name, fact]) => `${name}: ${flow(fact)}`);
  const [head, indent, mappings] = Array.isArray(providers)
    ? [['    providers:'], '      ', providers]
    : [['    providers:', '      replace:'], '        ', (providers as { replace: readonly object[] }).replace];
  return [
    `  - ${first}${comment(remark)}`,
    ...others.map((line) => `    ${line}`),
    ...head,
    ...mappings.map((mapping) => `${indent}- ${flow(mapping)}`),
  ].join('\n');
}

function routingText({ usual, policies }: Draft): string | null {
  const models = [...policies].flatMap(([id, policy]) => policyLine(`    ${flow(id)}`, policy));
  return block('routing', [...policyLine('  default', usual), ...(models.length === 0 ? [] : ['  models:', ...models])]);
}

const policyLine = (name: string, policy: object): string[] => (Object.keys(policy).length === 0 ? [] : [`${name}: ${flow(policy)}`]);

const pluginText = (name: string, options: object | undefined): string =>
  options === undefined ? name : flow({ use: name, with: options });

/** A value on one line. safety: the file may be printed on a terminal, so no control character stays as it is. */
function flow(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, (_, node) => {
    if (isCollection(node)) node.flow = true;
    // an unquoted text has no escapes: its line breaks would be lines of the file
    else if (isScalar(node) && printable(String(node.value)) !== String(node.value)) node.type = 'QUOTE_DOUBLE';
  });
  return printableJson(
    document.toString({ lineWidth: 0, flowCollectionPadding: true, doubleQuotedMinMultiLineLength: Infinity }).trimEnd(),
  );
}
