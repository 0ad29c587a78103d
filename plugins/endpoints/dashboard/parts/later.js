/** A part that is loaded when it is first shown. */
import { html, useEffect, useState } from './html.js';

/** @param {{ load: () => Promise<any>, [name: string]: any }} props */
export function Later({ load, ...props }) {
  const [part, setPart] = useState(/** @type {{ View: any } | null} */ (null));
  useEffect(() => void load().then((View) => setPart({ View })), [load]);
  return part === null ? null : html`<${part.View} ...${props} />`;
}
