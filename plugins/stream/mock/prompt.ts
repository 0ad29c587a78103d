/**
 * Reads the messages: the text to repeat, and the instructions written in it. An instruction is `[[name]]` or
 * `[[name:value option:value]]`, in the last system message or the last user message; where both say the same, the user wins.
 */
import type { Message } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';

interface Rule {
  /** How it is written, for messages and for the help text. */
  readonly form: string;
  readonly value: 'none' | 'text' | 'name' | 'count' | 'optional count';
  readonly from?: number;
  readonly to?: number;
  readonly options?: readonly Option[];
}

type Option = 'retry-after' | 'attempts' | 'provider';

const limits = ['attempts', 'provider'] as const satisfies Option[];

/** Every instruction. README.md says what each does; a test holds the two together. */
export const grammar = {
  say: { form: '[[say:TEXT]]', value: 'text' },
  words: { form: '[[words:N]]', value: 'count', from: 1, to: 100_000 },
  json: { form: '[[json]]', value: 'none' },
  tool: { form: '[[tool:NAME]]', value: 'name' },
  tools: { form: '[[tools]]', value: 'none' },
  delay: { form: '[[delay:MS]]', value: 'count', from: 0, to: 3_600_000 },
  pace: { form: '[[pace:MS]]', value: 'count', from: 0, to: 60_000 },
  status: { form: '[[status:503]]', value: 'count', from: 400, to: 599, options: ['retry-after', ...limits] },
  cut: { form: '[[cut:N]]', value: 'count', from: 0, to: 1_000_000, options: limits },
  hang: { form: '[[hang:N]]', value: 'optional count', from: 0, to: 1_000_000, options: limits },
} as const satisfies Record<string, Rule>;

export type InstructionName = keyof typeof grammar;

/** All forms in one line. */
export const knownForms: string = Object.values(grammar).map(({ form }) => form).join(' ');

export interface Instruction {
  readonly name: InstructionName;
  readonly text: string | null;
  readonly number: number | null;
  readonly options: Readonly<Partial<Record<Option, string>>>;
}

export interface Prompt {
  /** The last user text without its instructions. */
  readonly text: string;
  /** In the order in which they count: a later one replaces an earlier one. */
  readonly instructions: readonly Instruction[];
  /** Results of tools that came after everything else, as texts. */
  readonly toolResults: readonly string[];
}

/** The instruction that counts among those of one name, or of several names that exclude each other. */
export const last = ({ instructions }: Prompt, ...names: InstructionName[]): Instruction | undefined => instructions.findLast(({ name }) => names.includes(name));

/** The text of a message, its text parts joined. */
export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? '').filter((text) => text !== '').join('\n');
}

/** Refuses an instruction that it does not know or cannot read. */
export function parsePrompt(messages: readonly Message[]): Prompt {
  const system = messages.findLastIndex(({ role }) => role === 'system' || role === 'developer');
  const user = messages.findLastIndex(({ role }) => role === 'user');
  const [, general] = parseAt(messages, system);
  const [text, own] = parseAt(messages, user);
  const answered = messages.findLastIndex(({ role }) => role !== 'tool');
  return { text, instructions: [...general, ...own], toolResults: messages.slice(answered + 1).map(textOf) };
}

type Parsed = [text: string, instructions: Instruction[]];

function parseAt(messages: readonly Message[], at: number): Parsed {
  const message = messages[at];
  if (message === undefined) return ['', []];
  try {
    return parseText(textOf(message));
  } catch (thrown) {
    throw new GatewayError('invalid_value', (thrown as Error).message, { param: `messages[${at}].content`, upstreamStatus: 400, cause: thrown });
  }
}

const head = /([a-z]+)(?=[: ]|\]\])/y;

/** Linear in the text: each `]]` is looked for once, whatever stands before it. */
function parseText(text: string): Parsed {
  const instructions: Instruction[] = [];
  const kept: string[] = [];
  let at = 0;
  let close = -1;
  for (let open = text.indexOf('[['); open !== -1; open = text.indexOf('[[', open)) {
    if (close < open) close = text.indexOf(']]', open);
    if (close === -1) break;
    head.lastIndex = open + 2;
    const name = head.exec(text)?.[1];
    if (name === undefined || (text[head.lastIndex] === ' ' && !isKnown(name))) {
      open++;
      continue;
    }
    // a text may itself end in a bracket: [[say:[1,2]]]
    if (name === 'say') while (text[close + 2] === ']') close++;
    instructions.push(parseInstruction(name, text.slice(head.lastIndex, close)));
    kept.push(text.slice(at, open));
    at = close + 2;
    if (text[at] === ' ' && (open === 0 || text[open - 1] === ' ')) at++;
    open = at;
  }
  return [(kept.join('') + text.slice(at)).trim(), instructions];
}

const isKnown = (name: string): name is InstructionName => Object.hasOwn(grammar, name);

function parseInstruction(name: string, rest: string): Instruction {
  if (!isKnown(name)) throw new Error(`The mock provider does not know the instruction [[${name.slice(0, 40)}]]. It knows: ${knownForms}`);
  const rule: Rule = grammar[name];
  const fault = (what: string): Error => new Error(`[[${name}]] of the mock provider ${what}, as in ${rule.form}.`);
  const value = rest.startsWith(':') ? rest.slice(1) : null;

  if (rule.value === 'text') {
    if (value === null) throw fault('takes a text');
    return { name, text: value, number: null, options: {} };
  }
  const words = (value ?? rest).split(' ').filter((word) => word !== '');
  const main = value === null ? undefined : words.shift();
  const options = parseOptions(words, rule, fault);
  if (rule.value === 'none' && main !== undefined) throw fault('takes no value');
  if (rule.value === 'none' || rule.value === 'name') return { name, text: main ?? null, number: null, options };
  if (main === undefined && rule.value === 'optional count') return { name, text: null, number: null, options };
  const { from = 0, to = Infinity } = rule;
  const number = toCount(main);
  if (number === null || number < from || number > to) throw fault(`takes a whole number from ${from} to ${to}`);
  return { name, text: null, number, options };
}

function parseOptions(words: readonly string[], { options: known = [] }: Rule, fault: (what: string) => Error): Instruction['options'] {
  const options: Partial<Record<Option, string>> = {};
  for (const word of words) {
    const colon = word.indexOf(':');
    const option = known.find((option) => option === word.slice(0, colon));
    const value = word.slice(colon + 1);
    if (option === undefined) throw fault(known.length === 0 ? 'takes no options' : `takes the options ${known.map((name) => `${name}:…`).join(' ')}`);
    if (option !== 'provider' && toCount(value) === null) throw fault(`takes a whole number after ${option}:`);
    options[option] = value;
  }
  return options;
}

const toCount = (word: string | undefined): number | null => (word !== undefined && /^\d{1,7}$/.test(word) ? Number(word) : null);
