/** Nothing is on record yet: the line to send, and the page turns by itself when it has come. */
import { html, useEffect } from './html.js';
import { useData } from './api.js';
import { firstChoice } from './callable.js';
import { Copy } from './copy.js';
import { curlOf } from './snippets.js';
import { Notice } from './states.js';
import { tail } from './tail.js';

/** @param {{ isOver: boolean, isLive?: boolean, flipped: () => void, widen: string }} props of a time that is over, or of a list that is live by itself */
export function FirstRequest({ isOver, ...more }) {
  if (isOver) return html`<${Notice} icon="search" title="No request in this time"><a href=${more.widen}>Look at the last 30 days</a><//>`;
  return html`<${Waiting} ...${more} />`;
}

function Waiting({ isLive = false, flipped, widen }) {
  useEffect(() => {
    if (isLive) return undefined;
    // the record is in the store a moment after it is told
    const end = tail('', () => setTimeout(() => flipped(), 400));
    const poll = setInterval(() => document.hidden || flipped(), 3000);
    return () => {
      end();
      clearInterval(poll);
    };
  }, [isLive]);
  const { data: models } = useData('/api/models');
  const line = curlOf({ model: firstChoice(models), messages: [{ role: 'user', content: 'Hello' }] });
  return html`<section class="first"><div class="first-pulse" aria-hidden="true" />
    <h2>Waiting for the first request</h2>
    <p>Send one, and this page turns by itself.</p>
    <div class="code"><pre tabindex="0" aria-label="A first request"><code>${line}</code></pre><${Copy} text=${line} what="the request" /></div>
    <p class="soft"><a href="/dashboard/connect">Other clients</a> · <a href="/dashboard/playground">Try it in the playground</a> · <a href=${widen}>Look at the last 30 days</a></p>
  </section>`;
}
