/* Sets the chosen theme before the first paint, so that the page does not flash. A module would run too late, so this is a plain script. */
(() => {
  try {
    const theme = localStorage.getItem('gateway.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // the browser allows no storage, so the theme of the system is used
    delete document.documentElement.dataset.theme;
  }
})();
