/**
 * A link that holds the form of the playground. The form is behind the
 * `#`, which no browser sends to a server. The key is never part of it.
 */
import { emptyForm, isOfField } from './playground-request.js';

/** A link longer than this is cut by programs that people send it with. */
const longest = 60_000;

/** @param {Blob} blob @param {ReadableWritablePair} stream */
const through = async (blob, stream) => new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer());

const isChanged = ([name, value]) => JSON.stringify(value) !== JSON.stringify(emptyForm[/** @type {keyof typeof emptyForm} */ (name)]);

/** @param {import('./playground-request.js').Form} form @returns {Promise<string>} */
export async function linkOf(form) {
  const changed = Object.fromEntries(Object.entries(form).filter(isChanged));
  const packed = await through(new Blob([JSON.stringify(changed)]), new CompressionStream('deflate-raw'));
  const code = btoa(packed.reduce((text, byte) => text + String.fromCharCode(byte), ''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
  if (code.length > longest) {
    throw new RangeError(`The form is too large for a link (${Math.round(code.length / 1000)} kB): leave images out.`);
  }
  return `${location.origin}/dashboard/playground#${code}`;
}

/** The form of a link. Throws for any other text. @param {string} hash @returns {Promise<import('./playground-request.js').Form>} */
export async function formIn(hash) {
  try {
    const bytes = Uint8Array.from(atob(hash.replace(/^#/, '').replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
    const text = new TextDecoder().decode(await through(new Blob([bytes]), new DecompressionStream('deflate-raw')));
    const given = JSON.parse(text);
    // safety: somebody else wrote the link, so only values that the form can show are taken
    const isTaken = (name) => Object.hasOwn(given, name) && isOfField(name, given[name]);
    return {
      ...emptyForm,
      ...Object.fromEntries(
        Object.keys(emptyForm)
          .filter(isTaken)
          .map((name) => [name, given[name]]),
      ),
    };
  } catch (error) {
    throw new Error('The form in this link cannot be read.', { cause: error });
  }
}
