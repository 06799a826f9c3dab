/**
 * The CPU that the console's live views cost the gateway: the same gateway with ten of them open and with none. Each
 * view follows requests live and reads the overview as often as the page does.
 */

import { cpuRatios, ratioLine } from "../compare.ts";
import type { RunScenario } from "../context.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { atMost } from "../result.ts";
import { targets, uncachedText } from "../scenarios.ts";
import { figureTable } from "../table.ts";

const token = "bench-admin-token-0123456789abcdef";
const count = 10;
/** As the overview page does. */
const readEveryMs = 5000;
/** Two reads of each view. */
const secondsPerRound = 10;

export const viewers: RunScenario = async (context) => {
  const gateway = await context.vexel({ VEXEL_ADMIN_TOKEN: token });
  const none: Figures[] = [];
  const ten: Figures[] = [];
  const measure = (seconds: number) => underLoad(context, gateway, uncachedText, seconds);
  context.log(`${count} live views: warming up`);
  await warmUp(async () => (await measure(2)).cpuUsPerRequest);
  for (let round = 1; round <= context.rounds; round++) {
    context.log(`${count} live views: round ${round} of ${context.rounds}`);
    none.push(await measure(secondsPerRound));
    const views = Array.from({ length: count }, (_, at) => openView(gateway.url, at));
    ten.push(await measure(secondsPerRound));
    await Promise.all(views.map((close) => close()));
  }
  await gateway.process.stop();
  const ratios = cpuRatios(ten, none);
  const columns = { none: medians(none), [`${count} views`]: medians(ten) };
  return {
    text: [
      `${count} live views of the console, while ${uncachedText.name}`,
      figureTable(columns),
      ratioLine(ratios, "none"),
    ].join("\n"),
    figures: { columns, ratios },
    verdicts: [
      atMost(
        `CPU with ${count} live views`,
        ratios.median,
        targets.viewedUnviewedRatio,
        "x without them",
      ),
    ],
  };
};

/** Opens one view. Returns a function that closes it, and rejects if the view did not work. */
function openView(url: string, at: number): () => Promise<void> {
  const closed = new AbortController();
  const { signal } = closed;
  const get = async (path: string): Promise<Response> => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/admin/api${path}`, { headers, signal });
    if (response.ok) return response;
    throw new Error(`${path} responded with ${response.status}: ${await response.text()}`);
  };
  let received = 0;
  const follow = async () => {
    const { body } = await get("/requests/live");
    for await (const bytes of body ?? []) received += bytes.length;
  };
  const read = async () => {
    await Bun.sleep((readEveryMs / count) * at);
    for (; !signal.aborted; await Bun.sleep(readEveryMs))
      await Promise.all(
        ["/overview", "/statistics"].map(async (path) => (await get(path)).bytes()),
      );
  };
  const work = [follow(), read()].map((each) =>
    each.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    }),
  );
  const problems = Promise.allSettled(work);
  return async () => {
    closed.abort();
    for (const result of await problems) if (result.status === "rejected") throw result.reason;
    if (received === 0) throw new Error("a live view received no request");
  };
}
