/**
 * Waits for something to happen. The limit is far above what a busy machine needs: only a test that hangs reaches it.
 */
const limitMs = 120_000;
/** Many conditions send a request or read the ledger, so a condition that takes long is checked less often. */
const firstPauseMs = 5;
const maxPauseMs = 50;

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + limitMs;
  for (let pauseMs = firstPauseMs; !(await condition()); pauseMs *= 1.2) {
    if (performance.now() > end)
      throw new Error(`did not happen within ${limitMs} ms: ${condition}`);
    await Bun.sleep(Math.min(pauseMs, maxPauseMs));
  }
}
