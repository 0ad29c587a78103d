/** The YAML language server that editors run, used over its standard input and output. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Diagnostic {
  readonly message: string;
  readonly range: { readonly start: { readonly line: number; readonly character: number } };
}

export interface LanguageServer {
  /** The faults that the editor underlines in this text, opened as this file. */
  diagnose(uri: string, text: string): Promise<Diagnostic[]>;
  /** The labels that the editor offers at a place (from 0) of the text that was opened last. */
  complete(uri: string, line: number, character: number): Promise<string[]>;
  stop(): void;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
}

const program = fileURLToPath(new URL('../../node_modules/yaml-language-server/bin/yaml-language-server', import.meta.url));

export async function startLanguageServer(): Promise<LanguageServer> {
  const server = spawn(process.execPath, [program, '--stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const listeners = new Set<(message: Message) => void>();
  let pending = Buffer.alloc(0);
  let lastId = 0;

  const send = (message: object): void => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const next = (isWanted: (message: Message) => boolean): Promise<Message> =>
    new Promise((resolve) => {
      const listener = (message: Message): void => {
        if (!isWanted(message)) return;
        listeners.delete(listener);
        resolve(message);
      };
      listeners.add(listener);
    });
  const ask = async (method: string, params: object): Promise<unknown> => {
    lastId += 1;
    const id = lastId;
    const answer = next((message) => message.id === id && message.method === undefined);
    send({ id, method, params });
    return (await answer).result;
  };

  server.stdout.on('data', (bytes: Buffer) => {
    pending = Buffer.concat([pending, bytes]);
    for (;;) {
      const [head, length] = /Content-Length: (\d+)\r\n(?:.*\r\n)*?\r\n/.exec(pending.toString('latin1')) ?? [];
      if (head === undefined || pending.length < head.length + Number(length)) return;
      const message = JSON.parse(pending.subarray(head.length, head.length + Number(length)).toString()) as Message;
      pending = pending.subarray(head.length + Number(length));
      // the server asks for settings and for permission to register; it gets null, and uses the settings that are sent below
      if (message.method !== undefined && message.id !== undefined) send({ id: message.id, result: null });
      for (const listener of listeners) listener(message);
    }
  });

  await ask('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
  send({ method: 'initialized', params: {} });
  send({
    method: 'workspace/didChangeConfiguration',
    params: { settings: { yaml: { validate: true, completion: true, schemaStore: { enable: false } } } },
  });

  return {
    async diagnose(uri, text) {
      const published = next(
        ({ method, params }) => method === 'textDocument/publishDiagnostics' && (params as { uri: string }).uri === uri,
      );
      send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'yaml', version: 1, text } } });
      return ((await published).params as { diagnostics: Diagnostic[] }).diagnostics;
    },
    async complete(uri, line, character) {
      const answer = (await ask('textDocument/completion', { textDocument: { uri }, position: { line, character } })) as {
        items: { label: string }[];
      };
      return answer.items.map(({ label }) => label);
    },
    stop: () => server.kill(),
  };
}
