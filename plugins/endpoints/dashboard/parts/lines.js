/** Reads answers that come in pieces. */

/** Generates the lines of an answer, each as soon as it is complete. @param {Response} response */
export async function* linesOf(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ''; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    // when the caller stops reading, the connection is closed
    reader.cancel().catch(() => {});
  }
}

/** Generates the data of a stream of events; each event must be JSON. @param {Response} response */
export async function* eventsOf(response) {
  for await (const line of linesOf(response)) if (line.startsWith('data: ') && line !== 'data: [DONE]') yield JSON.parse(line.slice(6));
}
