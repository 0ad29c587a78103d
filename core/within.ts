/** What the work resolves to; `late` where it takes longer than so many milliseconds. Rejects as the work does. */
export async function within<Value, Late>(work: Promise<Value>, ms: number, late: Late): Promise<Value | Late> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<Late>((resolve) => {
    timer = setTimeout(resolve, ms, late);
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
