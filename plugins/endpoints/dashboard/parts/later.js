/** A part that is loaded when it is first shown. */
import { html, useEffect, useState } from './html.js';
import { NotLoaded } from './states.js';

/** @param {{ load: () => Promise<any>, [name: string]: any }} props */
export function Later({ load, ...props }) {
  const [part, setPart] = useState(/** @type {{ View: any } | null} */ (null));
  useEffect(
    () =>
      void load().then(
        (View) => setPart({ View }),
        () => setPart({ View: Missing }),
      ),
    [load],
  );
  return part === null ? null : html`<${part.View} ...${props} />`;
}

/** The notice for a part that cannot be loaded, at a place where people see it. */
const Missing = () => html`<div class="part-missing"><${NotLoaded} what="part" /></div>`;
