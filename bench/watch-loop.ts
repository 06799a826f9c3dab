/** Measures how long the event loop of a gateway is blocked, with `loop-probe.ts` in a worker thread. */

import type { RunningProxy } from "./nginx.ts";

/** The next message of a worker thread. */
export const messageOf = <T>(worker: Worker): Promise<T> =>
  new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<T>) => resolve(data);
    worker.onerror = reject;
  });

/** `end` resolves with the longest time that the event loop of the gateway was blocked since, in ms. */
export async function watchLoop({
  url,
  process: { pid },
}: RunningProxy): Promise<{ end(): Promise<number> }> {
  const worker = new Worker(new URL("./loop-probe.ts", import.meta.url));
  worker.postMessage({ url, pid });
  await messageOf<"ready">(worker);
  return {
    end: async () => {
      const longest = messageOf<number>(worker);
      worker.postMessage("end");
      const ms = await longest;
      worker.terminate();
      return ms;
    },
  };
}
