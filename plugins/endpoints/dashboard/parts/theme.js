/** Light, dark, or as the system has it. */
import { useEffect, useState } from './html.js';

/** @returns {'light' | 'dark' | 'system'} */
export const chosenTheme = () => /** @type {any} */ (localStorage.getItem('gateway.theme')) ?? 'system';

/** @param {'light' | 'dark' | 'system'} theme */
export function chooseTheme(theme) {
  if (theme === 'system') {
    localStorage.removeItem('gateway.theme');
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem('gateway.theme', theme);
    document.documentElement.dataset.theme = theme;
  }
  dispatchEvent(new CustomEvent('gateway:theme'));
}

/** Counts up when the colours change: what draws by itself draws again. */
export function useThemeChanges() {
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    const changed = () => setChanges((before) => before + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('gateway:theme', changed);
    system.addEventListener('change', changed);
    return () => {
      removeEventListener('gateway:theme', changed);
      system.removeEventListener('change', changed);
    };
  }, []);
  return changes;
}

/** @param {string} name of a CSS variable */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
