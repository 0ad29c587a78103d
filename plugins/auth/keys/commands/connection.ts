/** How the commands reach `/api/keys`: at the gateway that runs with this config, or, where none runs, in this process without a port. */
import { Exit, exitCodeOf } from '../../../../core/exit.ts';
import type { CommandRun } from '../../../../core/host/command.ts';
import { version } from '../../../../core/version.ts';

export interface Asking {
  /** Gives the body of the answer. Throws an Exit with the message of a refusal: code 4 where the store is away. */
  ask(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<unknown>;
}

// the audit list recognises the commands by this name
const userAgent = `gateway/${version}`;

/** The exit code where no gateway runs. */
const none = 5;

export async function connect({
  askRunning,
  openLog,
  config,
}: Pick<CommandRun<never>, 'askRunning' | 'openLog' | 'config'>): Promise<Asking> {
  let here: Awaited<ReturnType<typeof openLog>> | null = null;
  const askHere = async (path: string, init: RequestInit): Promise<Response> => {
    here ??= await openLog();
    const { adminKey } = config.server;
    return await here.fetch(
      new Request(`http://localhost${path}`, {
        ...init,
        headers: {
          ...(init.headers as Record<string, string>),
          ...(adminKey !== null && { authorization: `Bearer ${adminKey.reveal()}` }),
        },
      }),
    );
  };
  return {
    async ask(method, path, body) {
      const init: RequestInit = {
        method,
        headers: { 'user-agent': userAgent, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      };
      const response =
        here === null
          ? await askRunning(path, init).catch((thrown: unknown) =>
              thrown instanceof Exit && thrown.code === none ? askHere(path, init) : Promise.reject(thrown),
            )
          : await askHere(path, init);
      const answer = (await response.json()) as { error?: { message?: string; code?: string } };
      if (!response.ok) {
        throw new Exit(exitCodeOf(answer.error?.code), answer.error?.message ?? `The gateway answered with ${response.status}.`);
      }
      return answer;
    },
  };
}
