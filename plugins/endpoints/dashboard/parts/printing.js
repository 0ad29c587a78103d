/** Whether the page is on its way to paper: what is folded or behind a tab is shown then. */
import { useEffect, useState } from './html.js';

const paper = matchMedia('print');

export function usePrinting() {
  const [isPrinting, setPrinting] = useState(paper.matches);
  useEffect(() => {
    const changed = () => setPrinting(paper.matches);
    paper.addEventListener('change', changed);
    return () => paper.removeEventListener('change', changed);
  }, []);
  return isPrinting;
}
