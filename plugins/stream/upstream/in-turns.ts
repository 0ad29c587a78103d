const mostAtOneTime = 8;

/**
 * The results of the work for each item, in their order. A few items are worked on at one time; after the first failure no more are begun.
 */
export async function inTurns<Item, Value>(items: readonly Item[], work: (item: Item) => Promise<Value>): Promise<Value[]> {
  const values: Value[] = [];
  let next = 0;
  const line = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++;
      values[at] = await work(items[at] as Item);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(mostAtOneTime, items.length) }, line));
  } catch (thrown) {
    next = items.length;
    throw thrown;
  }
  return values;
}
