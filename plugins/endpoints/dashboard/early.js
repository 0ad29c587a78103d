/* Before the first paint: the theme that was chosen here, so that the page does not flash. A plain script for that reason. */
(() => {
  try {
    const theme = localStorage.getItem('gateway.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // no storage: the system's theme it is
    delete document.documentElement.dataset.theme;
  }
})();
