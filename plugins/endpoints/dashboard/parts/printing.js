/** Tells whether the page is being printed; folded content and the content of tabs is then shown. */
import { useLayoutEffect, useState } from './html.js';

/** True while the page is being printed. */
export function usePrinting() {
  const [isPrinting, setPrinting] = useState(() => matchMedia('print').matches);
  // an effect after the drawing would miss a print that begins between the two
  useLayoutEffect(() => {
    // each part has a query of its own, and reads it only here: browsers do not report a change to a part that has already read it
    const paper = matchMedia('print');
    const changed = () => setPrinting(paper.matches);
    paper.addEventListener('change', changed);
    return () => paper.removeEventListener('change', changed);
  }, []);
  return isPrinting;
}
