/**
 * Reasoning details in one opaque string, for wire formats that have no place for the fields of a detail. Any door takes back what any
 * door gave out: the string says who issued the detail, and the pipeline sends it to nobody else.
 */
import type { ReasoningDetail } from '../chat.ts';
import { textOf } from './fields.ts';
import { fieldsIn } from './json.ts';

/**
 * Marks the strings of the gateway. All characters of a string are those
 * of base64url, which clients accept wherever they accept a signature.
 */
const prefix = 'gw1_';

/**
 * The string for a detail.
 * @param beside the text that the wire format shows next to the string; a detail with the same text is written without it
 */
export function toOpaque(detail: ReasoningDetail, beside = ''): string {
  const { text, ...others } = detail;
  const written = text === undefined || text === beside ? others : detail;
  return prefix + Buffer.from(JSON.stringify(written)).toString('base64url');
}

/**
 * The detail inside a string of `toOpaque`, where a client that got it from a door of another format sends it as the state of a provider.
 */
export function openedDetail(detail: ReasoningDetail): ReasoningDetail {
  const opaque = opaqueIn(detail);
  return (opaque === null ? null : fromOpaque(opaque, detail.text)) ?? detail;
}

/** The opaque string in a detail; null where it has none. */
export const opaqueIn = ({ signature, data }: ReasoningDetail): string | null => textOf(signature ?? data);

/**
 * The detail in a string that `toOpaque` made; null for any other string, because its issuer is unknown.
 * @param beside the text that came next to the string
 */
export function fromOpaque(opaque: string, beside = ''): ReasoningDetail | null {
  if (!opaque.startsWith(prefix)) return null;
  const written = fieldsIn(Buffer.from(opaque.slice(prefix.length), 'base64url').toString('utf8'));
  // the client may have changed the string
  if (typeof written?.['type'] !== 'string') return null;
  const detail = written as unknown as ReasoningDetail;
  return detail.type === 'reasoning.text' && detail.text === undefined ? { ...detail, text: beside } : detail;
}

/**
 * Joins the details of one thought.
 * wire: some providers send a detail for each piece of the text, and the state with the last one (OpenRouter: Reasoning tokens)
 */
export class JoinedDetail {
  /** The details so far, joined; null: no detail has come. */
  whole: ReasoningDetail | null = null;

  /** Whether a detail can be joined to the earlier ones: details of another type, number or id are another thought. */
  takes({ type, index, id }: ReasoningDetail): boolean {
    const { whole } = this;
    return whole === null || (whole.type === type && isSame(whole.index, index) && isSame(whole['id'], id));
  }

  /** Takes a detail of the thought. True if it was the last one: it has the state. */
  take(detail: ReasoningDetail): boolean {
    const { whole: before } = this;
    this.whole =
      before === null ? detail : { ...before, ...said(detail), ...joined('text', before, detail), ...joined('summary', before, detail) };
    return hasState(detail);
  }
}

/** Whether two names may be of one thought: a piece may leave its name out. */
const isSame = (one: unknown, other: unknown): boolean => (one ?? other) === (other ?? one);

/** The fields of a piece that are not null: null says nothing new. */
const said = (piece: ReasoningDetail): Partial<ReasoningDetail> =>
  Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== null));

const hasState = ({ signature, data }: ReasoningDetail): boolean => textOf(signature) !== null || textOf(data) !== null;

function joined(field: 'text' | 'summary', before: ReasoningDetail, detail: ReasoningDetail): Partial<ReasoningDetail> {
  const [first, second] = [before[field], detail[field]];
  return typeof first === 'string' && typeof second === 'string' ? { [field]: first + second } : {};
}
