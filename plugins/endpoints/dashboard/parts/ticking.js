/** Work that draws the page again and again, and leaves time for clicks. */

const longestTick = 2000;

/**
 * Calls a function again and again. The pause between two calls is three times as long as the page takes to draw, so that the page
 * still reacts to clicks.
 * @param {() => void} act
 * @param {number} shortestTick the shortest pause, in milliseconds
 * @returns {() => void} ends it
 */
export function ticking(act, shortestTick) {
  let timer = 0;
  let isOver = false;
  const tick = () => {
    act();
    const began = performance.now();
    // a timer that is set in an animation frame runs after the page is drawn
    requestAnimationFrame(() =>
      setTimeout(() => {
        const pause = Math.min(longestTick, Math.max(shortestTick, 3 * (performance.now() - began)));
        if (!isOver) timer = setTimeout(tick, pause);
      }),
    );
  };
  timer = setTimeout(tick, shortestTick);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
