/** Handles errors that nobody catches, and output whose reader has gone. */
import type { Places } from '../../host/places.ts';
import type { Logger } from '../../logger.ts';

interface MishapParts {
  readonly logger: Logger;
  readonly places: Places;
  /** Whether the command is `start`. */
  isServing(): boolean;
}

export function outlive({ logger, places, isServing }: MishapParts): void {
  // the reader of a pipe may stop reading: gateway logs | head. A gateway that serves goes on without a reader
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isServing()) return;
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`The output cannot be written: ${error.message}\n`);
    process.exit(70);
  });
  process.stderr.on('error', () => {
    // stderr is closed, so nobody can be told
  });
  process.on('uncaughtException', (error) => {
    const plugin = places.pluginIn(error);
    if (plugin !== null) {
      return logger.error('a plugin threw an error that nobody catches; the gateway goes on', { plugin, error, stack: error.stack });
    }
    // listhen checks the port, binds it, and does not wait for the error of the bind
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      process.stderr.write(`${error.message}. Choose another port: --port N\n`);
      process.exit(3);
    }
    logger.error('a bug ended the gateway', { error, stack: error.stack });
    process.exit(70);
  });
  // the error of a request is handled with the request; a rejection that arrives here belongs to work that nobody waits for
  process.on('unhandledRejection', (error) => {
    logger.error('a promise was rejected that nobody waits for; the gateway goes on', {
      plugin: places.pluginIn(error),
      error,
      ...(error instanceof Error && { stack: error.stack }),
    });
  });
}
