/** Keeps settings in the browser's storage. Where the storage is full or forbidden, settings are kept until the page is left. */

/** @type {Map<string, string | null>} */
const remembered = new Map();

/** A setting; null where there is none. @param {string} name @returns {string | null} */
export function read(name) {
  const known = remembered.get(name);
  if (known !== undefined) return known;
  try {
    return localStorage.getItem(`gateway.${name}`);
  } catch {
    // where storage is forbidden, even naming `localStorage` throws
    return null;
  }
}

/** Keeps a setting. @param {string} name @param {string | null} value null removes the setting */
export function write(name, value) {
  try {
    if (value === null) localStorage.removeItem(`gateway.${name}`);
    else localStorage.setItem(`gateway.${name}`, value);
    remembered.delete(name);
  } catch {
    remembered.set(name, value);
  }
}
