/** A command that sends a request, where a range that ends now has no request. The page changes by itself when a request comes. */
import { html, useEffect, useRef } from './html.js';
import { useData } from './api.js';
import { firstChoice } from './callable.js';
import { Copy } from './copy.js';
import { NoneOn } from './none-on.js';
import { curlOf } from './snippets.js';
import { Notice } from './states.js';
import { tail } from './tail.js';

/**
 * @param {{ isOver: boolean, isLive?: boolean, answer: unknown, flipped: () => void, widen: string }} props
 *   `isOver`: the range of the page is in the past; `isLive`: the list gets new requests by itself; `answer`: the last answer or error of
 *   the page; `flipped` is called when a request may have come
 */
export function FirstRequest({ isOver, ...more }) {
  if (isOver) return html`<${Notice} icon="search" title="No request in this time"><a href=${more.widen}>Look at the last 30 days</a><//>`;
  return html`<${Waiting} ...${more} />`;
}

function Waiting({ isLive = false, answer, flipped, widen }) {
  const isAsked = useRef(false);
  useEffect(() => void (isAsked.current = false), [answer]);
  useEffect(() => {
    if (isLive) return undefined;
    const look = () => {
      // a new query cancels the one before: if answers take longer than the pause, no answer would ever come
      if (isAsked.current || document.hidden) return;
      isAsked.current = true;
      flipped();
    };
    // the tail reports a record a moment before the store has it
    const end = tail('', () => setTimeout(look, 400));
    const poll = setInterval(look, 3000);
    return () => {
      end();
      clearInterval(poll);
    };
  }, [isLive]);
  const { data: models } = useData('/api/models');
  const line = curlOf({ model: firstChoice(models), messages: [{ role: 'user', content: 'Hello' }] });
  const tryIt = html`<a href="/dashboard/playground">Try it in the playground</a>`;
  return html`<${NoneOn} models=${models} /><section class="first">
    <div class="first-pulse" aria-hidden="true" />
    <h2>Waiting for a request</h2>
    <p>None came in this time. Send one, and this page shows it by itself.</p>
    <div class="code">
      <pre tabindex="0" aria-label="A first request"><code>${line}</code></pre>
      <${Copy} text=${line} what="the request" />
    </div>
    <p class="soft"><a href="/dashboard/connect">Other clients</a> · ${tryIt} · <a href=${widen}>Look at the last 30 days</a></p>
  </section>`;
}
