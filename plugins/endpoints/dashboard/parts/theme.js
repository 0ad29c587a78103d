/** The choice of the theme: light, dark, or that of the system. */
import { read, write } from './storage.js';

/** @returns {'light' | 'dark' | 'system'} */
export const chosenTheme = () => /** @type {any} */ (read('theme')) ?? 'system';

/** @param {'light' | 'dark' | 'system'} theme */
export function chooseTheme(theme) {
  write('theme', theme === 'system' ? null : theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
