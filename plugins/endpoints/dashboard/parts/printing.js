/** Tells whether the page is being printed; folded content and the content of tabs is then shown. */
import { useEffect, useState } from './html.js';

const paper = matchMedia('print');

/** True while the page is being printed. */
export function usePrinting() {
  const [isPrinting, setPrinting] = useState(paper.matches);
  useEffect(() => {
    const changed = () => setPrinting(paper.matches);
    paper.addEventListener('change', changed);
    return () => paper.removeEventListener('change', changed);
  }, []);
  return isPrinting;
}
