/**
 * What a plugin of somebody else imports by name: `model-gateway` is the gateway that runs, whatever folder the plugin is in and
 * whatever copy is installed beside it; another package is looked for from the folder of the config.
 */
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ownName = 'model-gateway';
/** The sources run as they are in a checkout; a built package holds JavaScript only. `exports` in package.json knows both. */
const conditions = import.meta.url.endsWith('.ts') ? [`${ownName}-source`] : [];

let isServed = false;
let last: string | null = null;

/**
 * The file that a plugin of others, or one of its own files, has imported last; null:
 * none. Node parses a file when it is imported, so a syntax error is in this one.
 */
export const lastImported = (): string | null => last;

/**
 * From now on, `import 'model-gateway'` in any file gives the files of this very gateway, so that there is one copy of its classes.
 * cost: Node calls a hook for each import. The gateway without plugins of others never needs it, and does not register it.
 */
export function serveOwnName(): void {
  if (isServed) return;
  isServed = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== ownName && !specifier.startsWith(`${ownName}/`)) {
        const found = asModule(next(specifier, context));
        if (found.url.startsWith('file:')) last = fileURLToPath(found.url);
        return found;
      }
      return next(specifier, { ...context, parentURL: import.meta.url, conditions: [...context.conditions, ...conditions] });
    },
  });
}

/** `npm init` writes `"type": "commonjs"` into a new folder, and Node then takes every `.ts` file there for a script without imports. */
const asModule = <Found extends { readonly format?: string | null | undefined; readonly url: string }>(found: Found): Found =>
  found.format === 'commonjs-typescript' && new URL(found.url).pathname.endsWith('.ts') ? { ...found, format: 'module-typescript' } : found;

/** The file of an npm package as `import` finds it from a folder. Null: no such package is installed there. */
export function resolvePackage(name: string, folder: string): string | null {
  const parentURL = pathToFileURL(join(folder, 'plugins')).href;
  const fromFolder = registerHooks({ resolve: (specifier, context, next) => next(specifier, { ...context, parentURL }) });
  try {
    return fileURLToPath(import.meta.resolve(name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  } finally {
    fromFolder.deregister();
  }
}
