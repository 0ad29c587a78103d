/** Loads styles that only some pages need. The page waits for them before it is drawn. */

const asked = new Map();

/** Resolves when the style sheet is loaded, or cannot be loaded. @param {string} name the name of a file in styles/, without .css */
export function styles(name) {
  if (!asked.has(name)) {
    asked.set(
      name,
      new Promise((resolve) => {
        const link = document.createElement('link');
        link.rel = 'stylesheet';
        link.href = new URL(`../styles/${name}.css`, import.meta.url).href;
        // a page without its styles is still readable, so a failure does not stop it
        for (const event of ['load', 'error']) link.addEventListener(event, () => resolve(undefined));
        document.head.append(link);
      }),
    );
  }
  return asked.get(name);
}
