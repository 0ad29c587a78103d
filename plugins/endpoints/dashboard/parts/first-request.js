/** Nothing is on record yet: the line to send, and the page turns by itself when it has come. */
import { html, useEffect } from './html.js';
import { useData } from './api.js';
import { firstChoice } from './callable.js';
import { Copy } from './copy.js';
import { curlOf } from './snippets.js';

/** @param {{ isOn: boolean, flipped: () => void, widen?: string }} props */
export function FirstRequest({ isOn, flipped, widen }) {
  useEffect(() => {
    if (!isOn) return undefined;
    const source = new EventSource('/api/logs/stream');
    // the record is in the store a moment after it is told
    const came = () => setTimeout(flipped, 400);
    source.addEventListener('request', came);
    const poll = setInterval(flipped, 3000);
    return () => {
      source.close();
      clearInterval(poll);
    };
  }, [isOn]);
  const { data: models } = useData('/api/models');
  const line = curlOf({ model: firstChoice(models), messages: [{ role: 'user', content: 'Hello' }] });
  return html`<section class="first"><div class="first-pulse" aria-hidden="true" />
    <h2>Waiting for the first request</h2>
    <p>Send one, and this page turns by itself.</p>
    <div class="code"><pre tabindex="0" aria-label="A first request"><code>${line}</code></pre><${Copy} text=${line} what="the request" /></div>
    <p class="soft"><a href="/dashboard/connect">Other clients</a> · <a href="/dashboard/playground">Try it in the playground</a>${widen && html` · <a href=${widen}>Look at the last 30 days</a>`}</p>
  </section>`;
}
