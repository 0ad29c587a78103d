/** What this browser keeps of the page. One that keeps nothing, or is full, remembers it until the page is left. */

/** @type {Map<string, string | null>} */
const remembered = new Map();

/** @param {string} name @returns {string | null} */
export function read(name) {
  const known = remembered.get(name);
  if (known !== undefined) return known;
  try {
    return localStorage.getItem(`gateway.${name}`);
  } catch {
    // the mere name throws where storage is forbidden
    return null;
  }
}

/** @param {string} name @param {string | null} value null: no longer */
export function write(name, value) {
  try {
    if (value === null) localStorage.removeItem(`gateway.${name}`);
    else localStorage.setItem(`gateway.${name}`, value);
    remembered.delete(name);
  } catch {
    remembered.set(name, value);
  }
}
