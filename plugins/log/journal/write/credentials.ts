/**
 * The credentials in a request with which its provider asks other servers: the headers, tokens and addresses
 * of MCP servers (OpenAI: Remote MCP; Anthropic: MCP connector; xAI: Remote MCP tools), and the keys of data
 * sources (Azure OpenAI: On your data). The provider gets them; the log keeps `[redacted]` in their place.
 */
import type { ChatRequest } from '../../../../core/chat.ts';
import { addressWithoutSecrets, mask, saysSecret } from '../../../../core/secret.ts';
import { fieldsOf, isFields, listOf } from '../../../../core/wire/fields.ts';
import { type NumberText, withDigits } from '../../../../core/wire/json.ts';

/** A text in a field, and what the log keeps in its place. */
type Credential = readonly [name: string, value: string, kept: string];

/**
 * Fields of a request that name servers that the provider asks. SDKs merge the fields of
 * `extra_body` into the request; a client that sends `extra_body` itself may send a key in it.
 */
const holders = ['mcp_servers', 'data_sources', 'extra_body'];

/** Fields whose whole content is secret, because the names in it may not show that: `connection_string` in `authentication`. */
const hidden = /^authentication$|headers$/i;

/** The credentials in tools that the provider runs, and in the servers that it asks. */
export function credentialsIn({ tools, native, rest }: ChatRequest): readonly Credential[] {
  const found: Credential[] = [];
  for (const tool of tools ?? []) {
    const { type, function: described, native } = tool;
    if (described !== undefined) collectNamespace(found, native?.fields['namespace']);
    else if (type === 'namespace') collectNamespace(found, tool);
    else collect(found, tool);
  }
  for (const field of holders) collect(found, native?.fields[field] ?? rest[field]);
  return found;
}

/**
 * A namespace has tools in it. The caller runs its functions: their schemas may name a secret, and hold none.
 */
function collectNamespace(found: Credential[], namespace: unknown): void {
  const { tools, ...own } = fieldsOf(namespace);
  collect(found, own);
  for (const tool of listOf(tools)) {
    const { type } = fieldsOf(tool);
    if (type === 'namespace') collectNamespace(found, tool);
    else if (type !== 'function' && type !== 'custom') collect(found, tool);
  }
}

/** @param isSecret whether the name of an outer object says that everything in it is a secret, for example `headers` */
function collect(found: Credential[], value: unknown, isSecret = false): void {
  if (!isFields(value) && !Array.isArray(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    const isHidden = isSecret || saysSecret(name) || hidden.test(name);
    if (typeof inner !== 'string') {
      collect(found, inner, isHidden);
      continue;
    }
    const kept = isHidden ? mask : /^(?:server_)?url$/.test(name) ? addressToKeep(inner) : inner;
    if (isHidden || kept !== inner) found.push([name, inner, kept]);
  }
}

/**
 * wire: the address that a server gives to each of its users has the key in its query,
 * or as a long part of its path (Zapier: MCP; Smithery: Connect, as of 2026-11).
 */
const addressToKeep = (address: string): string =>
  /^data:/i.test(address) ? address : addressWithoutSecrets(address).replaceAll(/(?<=\/)(?<!^\w+:\/\/)[^/]{20,}/g, mask);

/**
 * A JSON text without the values of these credentials. A value is replaced only in a field with the name of its credential, because the
 * secret of a header may be `user`, and so may the `role` of a message.
 * safety: the text is read once, because a caller may send thousands of credentials. A text that is not JSON is not kept.
 */
export function redacted(json: string, credentials: readonly Credential[]): string {
  if (credentials.length === 0) return json;
  const keptIn = new Map<string, Map<unknown, string>>();
  for (const [name, value, kept] of credentials) keptIn.set(name, (keptIn.get(name) ?? new Map<unknown, string>()).set(value, kept));
  try {
    return JSON.stringify(
      JSON.parse(json, (name, value: unknown, context?: NumberText) => keptIn.get(name)?.get(value) ?? withDigits(name, value, context)),
    );
  } catch {
    return mask;
  }
}
