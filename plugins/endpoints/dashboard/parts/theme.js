/** Light, dark, or as the system has it. */

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
}
