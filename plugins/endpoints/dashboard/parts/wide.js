/** What is wider than its place shows at which side there is more, and a wide table scrolls by keyboard too. */

const scrollers = '.table-scroll, .side ul, .tabs';
const ofTables = ['tabindex', 'role', 'aria-label'];

/** @param {Element} scroller */
function tell(scroller) {
  const { scrollLeft, scrollWidth, clientWidth } = scroller;
  const more = [scrollLeft > 1 && 'left', scrollLeft + clientWidth < scrollWidth - 1 && 'right'].filter(Boolean).join(' ');
  const was = scroller.getAttribute('data-more');
  if (more === (was ?? '')) return;
  scroller.setAttribute('data-more', more);
  // the table of a chart has a name of its own
  if (!scroller.matches(':not(.chart *).table-scroll') || (was && more)) return;
  const title = (scroller.closest('section')?.querySelector('h2') ?? document.querySelector('h1'))?.textContent;
  const values = more === '' ? [] : ['0', 'region', `${title}: a wide table`];
  ofTables.forEach((name, at) => (values[at] === undefined ? scroller.removeAttribute(name) : scroller.setAttribute(name, values[at])));
}

const scrolled = ({ target }) => target.matches?.(scrollers) && tell(target);

/** Watches also what comes later. @param {Element} root @returns {() => void} */
export function watchWide(root) {
  const seen = new WeakSet();
  const sizes = new ResizeObserver((entries) => new Set(entries.map(({ target }) => target.closest(scrollers))).forEach((scroller) => scroller && tell(scroller)));
  const find = () => {
    for (const scroller of root.querySelectorAll(scrollers)) {
      if (seen.has(scroller)) continue;
      seen.add(scroller);
      for (const element of [scroller, ...scroller.children]) sizes.observe(element);
    }
  };
  const changes = new MutationObserver(find);
  changes.observe(root, { childList: true, subtree: true });
  // a scroll does not bubble
  root.addEventListener('scroll', scrolled, { capture: true, passive: true });
  find();
  return () => {
    changes.disconnect();
    sizes.disconnect();
    root.removeEventListener('scroll', scrolled, { capture: true });
  };
}
