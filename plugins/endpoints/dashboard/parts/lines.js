/** Answers that come bit by bit. */

/** Each line as soon as it is whole. @param {Response} response */
export async function* linesOf(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (let rest = ''; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } finally {
    // who reads no further frees the connection
    reader.cancel().catch(() => {});
  }
}

/** The events of a stream whose data is JSON. @param {Response} response */
export async function* eventsOf(response) {
  for await (const line of linesOf(response)) if (line.startsWith('data: ') && line !== 'data: [DONE]') yield JSON.parse(line.slice(6));
}
