/**
 * Keeps secrets out of messages about the config. A secret is known by the
 * name of its setting, even if the name is misspelt, and by its shape.
 */
import { distance } from 'fastest-levenshtein';
import { saysSecret } from '../core/secret.ts';

const secretNames = ['apikey', 'adminkey', 'accesskeyid', 'secretaccesskey', 'sessiontoken', 'password', 'authorization'];
/** The most letters in which a misspelt name differs. */
const mostEdits = 2;

/**
 * Whether a setting of this name may hold a secret; if so, no message may quote its value. `hash`
 * counts too, because people write the key itself there. `require_keys` is a switch, so it does not.
 */
export function isSecretName(name: string): boolean {
  if (name === 'require_keys') return false;
  // the names of headers are not secret: `maskHeaders` masks their values
  if (saysSecret(name) && !/^headers$/i.test(name)) return true;
  if (/(^|[_-])(keys|hash|passwd)$|api-?key|webhook/i.test(name)) return true;
  const bare = name.replaceAll(/[-_]/g, '').toLowerCase();
  return secretNames.some((known) => Math.abs(known.length - bare.length) <= mostEdits && distance(known, bare) <= mostEdits);
}

/** Whether the value at this path may be a secret: the name of the setting, or of the list that it is in, says so. */
export const isSecretPath = (path: readonly (string | number)[]): boolean =>
  isSecretName(path.findLast((step): step is string => typeof step === 'string') ?? '');

/** Prefixes that providers give to their keys, and long words that mix letters with digits. No name of a model has such a shape. */
const shapes = [
  /\b(?:sk|pk|rk|gsk|gwk|gwa|ghp|gho|ghs|hf|r8|fw|pplx|nvapi|csk|tgp|glpat|lsv2)[-_][\w-]{8,}/g,
  /\b(?:AIza|AKIA|ASIA|ya29\.)[\w-]{8,}/g,
  /\bBearer\s+\S+/gi,
  /(?<!sha256:)\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]{24,}\b/g,
];
/** A password may hold an `@`: the last one ends it. */
const userInUrl = /(?<=:\/\/)[^\s/"']+(?=@)/g;
/**
 * The user in a malformed address, such as `redis//user:password@host`, because messages
 * quote malformed addresses. After a valid host, an `@` is a part of the path.
 */
const userOfBadAddress = /(?<![^\s"',{}[\]()])(?!\w+:\/\/(?:\*+@|[^\s/"'@:]+(?::\d+)?[/?#]))[^\s"',{}[\]()@:]*:[^\s"',{}[\]()]+(?=@)/g;
/** The password of a Redis may hold slashes. */
const userOfRedis = /(?<=\brediss?:\/\/)[^\s"']+(?=@)/gi;
const secretInQuery = /(?<=[?&][\w-]*(?:key|token|sig|signature|password|secret)=)[^&\s"']+/gi;

const stars = (text: string): string => text.replaceAll(/[^\s"',[\]]/g, '*');

/** The text without what has the shape of a secret. */
export function maskShapes(text: string): string {
  let masked = text;
  for (const shape of [userInUrl, userOfRedis, userOfBadAddress, secretInQuery, ...shapes]) masked = masked.replaceAll(shape, stars);
  return masked;
}

const setting = /([\w-]+)(["']?\s*:\s*)(\[[^\]]*\]?|"[^"]*"?|'[^']*'?|[^\s{,}\]][^,}\]]*)/g;

/** Masks a value; `${NAME}` stays, and of `${NAME:-default}` the name stays. */
const maskValue = (value: string): string =>
  value.replaceAll(/(\$\{[\w:/.-]*?(?::-|\}|$))|(\$\$)|([^$]+|\$)/g, (text: string, reference?: string) =>
    reference === undefined ? stars(text) : text,
  );

/** Masks the values of headers: each header may hold a credential, whatever its name. A value in braces may be one too. */
const maskHeaders = (text: string): string =>
  text
    .replace(/(?<=:\s*)\{.*/, stars)
    .replaceAll(setting, (...[, name = '', colon = '', value = '']: string[]) => name + colon + maskValue(value));
const headersOnLine = /(?<=\bheaders["']?\s*:\s*\{)(?:\$\{[^}]*\}|:\s*\{.*|[^}])*/g;

/** The line without what follows the name of a secret and a brace: in braces, a name may be the secret itself. */
function maskBraces(line: string): string {
  for (const { 0: start, 1: name = '', index } of line.matchAll(/(?<![\w-])([\w-]+)["']?\s*:\s*(?=\{)/g)) {
    if (isSecretName(name)) return line.slice(0, index + start.length) + stars(line.slice(index + start.length));
  }
  return line;
}

/** A line of the file without secrets. */
export const maskLine = (line: string): string => maskShapes(maskSettings(maskBraces(line).replaceAll(headersOnLine, maskHeaders)));

/** Masks settings on a line. The text after a setting may be another setting, if two lines became one. */
function maskSettings(text: string): string {
  return text.replaceAll(setting, (...[, name = '', colon = '', value = '']: string[]) => {
    if (/^["']?sha256:/.test(value)) return name + colon + value;
    return name + colon + (isSecretName(name) ? maskValue(value) : maskSettings(value));
  });
}

const indentOf = (line: string): number => line.search(/\S|$/);
/** Where a line begins, after the dash of a list's item. */
const contentAt = (line: string): number => /^\s*(?:-\s+)*/.exec(line)?.[0].length ?? 0;
const isItem = (line: string): boolean => /^\s*-(?:\s|$)/.test(line);

/**
 * The setting that a line belongs to: the last one of the nearest line above
 * that is indented less. `above`: the previous lines, the nearest first.
 */
function settingAbove(line: string, above: readonly string[]): string {
  const indent = indentOf(line);
  const parent = above.find(
    (one) => one.trim() !== '' && (contentAt(one) < indent || (isItem(line) && !isItem(one) && indentOf(one) === indent)),
  );
  return /([\w-]+)["']?\s*:[^:]*$/.exec(parent ?? '')?.[1] ?? '';
}

/** Whether the block `keys`, in which the line is, begins with an item of a list. */
function isInList(line: string, above: readonly string[]): boolean {
  const lines = [line, ...above].filter((one) => !/^\s*(?:#|$)/.test(one));
  const start = lines.findIndex((one) => /^\s*["']?keys["']?\s*:\s*(?:#.*)?$/.test(one));
  return start < 1 || isItem(lines[start - 1] ?? '');
}

/** How many lines above a value the name of its setting is searched for. */
export const mostAbove = 20;

/** A line of the file without secrets, also where the name of the secret is on an earlier line: a list, a text of several lines. */
export function maskPart(line: string, above: readonly string[]): string {
  const name = settingAbove(line, above);
  const hasSettings = /[\w-]["']?\s*:(?:\s|$)/.test(line);
  // `keys` is a list of maps, which are shown with their own secrets masked; but people also write a map of secrets there
  const isSecret = isSecretName(name) && !(hasSettings && name === 'keys' && isInList(line, above));
  if (isSecret) return line.replace(/^(\s*(?:- *)*)(.*)$/, (_, start: string, rest: string) => start + stars(rest));
  if (name === 'headers' && hasSettings) return maskLine(maskHeaders(line));
  const open = /([\w-]+)["']?\s*:\s*$/.exec(above.find((one) => one.trim() !== '') ?? '')?.[1] ?? '';
  return maskLine(isSecretName(open) ? line.replace(/^\s*[^\s,:{}[\]][^,:{}[\]]*(?=[,}\]]|$)/, stars) : line);
}
