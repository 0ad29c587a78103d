/**
 * Marks elements that are wider than their space with the sides on which there is more content, and makes wide tables scroll by keyboard.
 */

const scrollers = '.table-scroll, .side ul, .tabs';
const ofTables = ['tabindex', 'role', 'aria-label'];

/** @param {Element} scroller */
function tell(scroller) {
  const { scrollLeft, scrollWidth, clientWidth } = scroller;
  const more = [scrollLeft > 1 && 'left', scrollLeft + clientWidth < scrollWidth - 1 && 'right'].filter(Boolean).join(' ');
  const was = scroller.getAttribute('data-more');
  if (more === (was ?? '')) return;
  scroller.setAttribute('data-more', more);
  // the table of a chart has its own role and name
  if (!scroller.matches(':not(.chart *).table-scroll') || (was && more)) return;
  const title = (scroller.closest('section')?.querySelector('h2') ?? document.querySelector('h1'))?.textContent;
  const values = more === '' ? [] : ['0', 'region', `${title}: a wide table`];
  ofTables.forEach((name, at) => (values[at] === undefined ? scroller.removeAttribute(name) : scroller.setAttribute(name, values[at])));
}

const scrolled = ({ target }) => target.matches?.(scrollers) && tell(target);

/** Watches all such elements below `root`, also those that are added later. @param {Element} root @returns {() => void} ends it */
export function watchWide(root) {
  const seen = new WeakSet();
  const sizes = new ResizeObserver((entries) =>
    new Set(entries.map(({ target }) => target.closest(scrollers))).forEach((scroller) => scroller && tell(scroller)),
  );
  const find = () => {
    for (const scroller of root.querySelectorAll(scrollers)) {
      if (seen.has(scroller)) continue;
      seen.add(scroller);
      for (const element of [scroller, ...scroller.children]) sizes.observe(element);
    }
  };
  const changes = new MutationObserver(find);
  changes.observe(root, { childList: true, subtree: true });
  // scroll events do not bubble, so this listens in the capture phase
  root.addEventListener('scroll', scrolled, { capture: true, passive: true });
  find();
  return () => {
    changes.disconnect();
    sizes.disconnect();
    root.removeEventListener('scroll', scrolled, { capture: true });
  };
}
