/**
 * What a plugin of somebody else imports by name: `model-gateway` is the gateway that runs, whatever folder the plugin is in and
 * whatever copy is installed beside it; another package is looked for from the folder of the config.
 */
import { createRequire, registerHooks } from 'node:module';
import { join } from 'node:path';

const ownName = 'model-gateway';
/** The sources run as they are in a checkout; a built package holds JavaScript only. `exports` in package.json knows both. */
const conditions = import.meta.url.endsWith('.ts') ? [`${ownName}-source`] : [];

let isServed = false;

/**
 * From now on, `import 'model-gateway'` in any file gives the files of this very gateway, so that there is one copy of its classes.
 * cost: Node calls a hook for each import. The gateway without plugins of others never needs it, and does not register it.
 */
export function serveOwnName(): void {
  if (isServed) return;
  isServed = true;
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== ownName && !specifier.startsWith(`${ownName}/`)) return next(specifier, context);
      return next(specifier, { ...context, parentURL: import.meta.url, conditions: [...context.conditions, ...conditions] });
    },
  });
}

/** The file of an npm package as `import` would find it from a folder. Null: no such package is installed there. */
export function resolvePackage(name: string, folder: string): string | null {
  // `require.resolve` alone looks for what `require` would load, and does not find a package that has only an `import` entry
  const asImport = registerHooks({ resolve: (specifier, context, next) => next(specifier, { ...context, conditions: ['node', 'import', 'module-sync'] }) });
  try {
    return createRequire(join(folder, 'plugins')).resolve(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return null;
    throw error;
  } finally {
    asImport.deregister();
  }
}
