/**
 * Reads the text to repeat, and the instructions in it, from the messages. An instruction is `[[name]]` or `[[name:value option:value]]`,
 * in the last system message or the last user message. Where both have the same instruction, the user's counts.
 */
import type { Message } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';

interface Rule {
  /** An example of the instruction, for error messages and for the help text. */
  readonly form: string;
  readonly value: 'none' | 'text' | 'name' | 'count' | 'optional count';
  readonly from?: number;
  readonly to?: number;
  readonly options?: readonly Option[];
}

type Option = 'retry-after' | 'attempts' | 'provider';

const limits = ['attempts', 'provider'] as const satisfies Option[];

/** The form and the values of every instruction. README.md says what each does; a test compares the two lists. */
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

/** The name of an instruction, without brackets. */
type InstructionName = keyof typeof grammar;

/** The examples of all instructions, on one line. */
export const knownForms: string = Object.values(grammar)
  .map(({ form }) => form)
  .join(' ');

/** One instruction of a prompt. */
export interface Instruction {
  readonly name: InstructionName;
  /** The value where the instruction takes a text or a name. */
  readonly text: string | null;
  /** The value where the instruction takes a number. */
  readonly number: number | null;
  readonly options: Readonly<Partial<Record<Option, string>>>;
}

/** What the mock reads from the messages of a request. */
export interface Prompt {
  /** The last user text without its instructions. */
  readonly text: string;
  /** The instructions in their order. The later of two with the same name counts. */
  readonly instructions: readonly Instruction[];
  /** The texts of the tool results at the end of the conversation. */
  readonly toolResults: readonly string[];
}

/** The instruction that counts among all with one of these names: the last one. Several names are given where they exclude each other. */
export const last = ({ instructions }: Prompt, ...names: InstructionName[]): Instruction | undefined =>
  instructions.findLast(({ name }) => names.includes(name));

/** The text of a message; the text parts are joined by line breaks. */
export function textOf({ content }: Message): string {
  if (typeof content === 'string') return content;
  return (content ?? [])
    .map((part) => part.text ?? '')
    .filter((text) => text !== '')
    .join('\n');
}

/** Reads the prompt from messages. Throws a `GatewayError` `invalid_value` for an instruction that does not exist or has a wrong value. */
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
    throw new GatewayError('invalid_value', (thrown as Error).message, {
      param: `messages[${at}].content`,
      upstreamStatus: 400,
      cause: thrown,
    });
  }
}

const head = /([a-z]+)(?=[: ]|\]\])/y;

/**
 * Splits a text into its instructions and the rest. The time is linear in
 * the length of the text, because each `]]` is searched for only once.
 */
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
    // the text of `say` may itself end with a bracket: [[say:[1,2]]]
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
    if (option === undefined) {
      throw fault(known.length === 0 ? 'takes no options' : `takes the options ${known.map((name) => `${name}:…`).join(' ')}`);
    }
    if (option !== 'provider' && toCount(value) === null) throw fault(`takes a whole number after ${option}:`);
    options[option] = value;
  }
  return options;
}

const toCount = (word: string | undefined): number | null => (word !== undefined && /^\d{1,7}$/.test(word) ? Number(word) : null);
