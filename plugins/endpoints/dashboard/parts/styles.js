/** Styles that not every page needs. A part that imports this waits for them, so that nothing is painted without. */

const asked = new Map();

/** @param {string} name of a file in styles/ */
export function styles(name) {
  if (!asked.has(name)) {
    asked.set(name, new Promise((resolve) => {
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = new URL(`../styles/${name}.css`, import.meta.url).href;
      // without them the page is plain, not lost
      for (const event of ['load', 'error']) link.addEventListener(event, () => resolve(undefined));
      document.head.append(link);
    }));
  }
  return asked.get(name);
}
