/**
 * Waits for something to happen. The limit is far above what a busy machine needs: only a test that hangs reaches it.
 */
const limitMs = 60_000;

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > end)
      throw new Error(`did not happen within ${limitMs} ms: ${condition}`);
    await Bun.sleep(5);
  }
}
