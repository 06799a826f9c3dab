/**
 * One embeddings request with 64 images of 1 MB: new images, the same images from the cache, and the same bytes through
 * nginx. CPU, memory, and how long the gateway's event loop is blocked, which other clients wait for.
 */

import type { RunScenario } from "../context.ts";
import { median } from "../measure.ts";
import type { RunningProxy } from "../nginx.ts";
import { noisePng } from "../png.ts";
import { cpuMs, watchPeak } from "../proc.ts";
import { embeddedImages, key } from "../scenarios.ts";
import { watchLoop } from "../watch-loop.ts";

interface RequestFigures {
  readonly seconds: number;
  readonly cpuMs: number;
  readonly peakMegabytes: number;
  /** Only of the gateway: nginx has no `/healthz`. */
  readonly blockedMs?: number;
}

const { count, model } = embeddedImages;
const name = `${count} images of 1 MB in an embeddings request`;
/** A request takes seconds, and memory that is left to the garbage collector grows with the first ones. */
const maxRounds = 7;
/** Offset of bytes in the pixels of the image. */
const pixelOffset = 1000;

const image = noisePng(embeddedImages, 0);

/** Images that no other round has. */
function bodyOf(round: number): string {
  const input = Array.from({ length: count }, (_, at) => {
    image.writeUInt32BE(round * count + at, pixelOffset);
    const url = `data:image/png;base64,${image.toString("base64")}`;
    return { content: [{ type: "image_url", image_url: { url } }] };
  });
  return JSON.stringify({ model, input, encoding_format: "base64" });
}

async function post(url: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body });
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`${name} got status ${response.status}: ${text.slice(0, 500)}`);
}

async function measure(
  proxy: RunningProxy,
  path: string,
  body: string,
  isGateway: boolean,
): Promise<RequestFigures> {
  const { pid } = proxy.process;
  const loop = isGateway ? await watchLoop(proxy) : undefined;
  const memory = watchPeak(pid, 20);
  const [cpuBefore, started] = [cpuMs(pid), performance.now()];
  await post(`${proxy.url}${path}`, body);
  const seconds = (performance.now() - started) / 1000;
  const figures = { seconds, cpuMs: cpuMs(pid) - cpuBefore, peakMegabytes: memory.peak() };
  return loop ? { ...figures, blockedMs: await loop.end() } : figures;
}

/** Medians, except of memory: a bound holds at every moment. */
const summaryOf = (rounds: readonly RequestFigures[]): RequestFigures => ({
  seconds: median(rounds.map((round) => round.seconds)),
  cpuMs: median(rounds.map((round) => round.cpuMs)),
  peakMegabytes: Math.max(...rounds.map((round) => round.peakMegabytes)),
  blockedMs: median(rounds.map((round) => round.blockedMs ?? 0)),
});

const lineOf = (label: string, { seconds, cpuMs, peakMegabytes, blockedMs }: RequestFigures) =>
  `${label.padEnd(8)}${cpuMs.toFixed(0)} ms CPU, ${seconds.toFixed(2)} s, at most ${peakMegabytes.toFixed(0)} MB` +
  (blockedMs ? `, event loop blocked for ${blockedMs.toFixed(0)} ms` : "");

export const embeddedImagesInOneRequest: RunScenario = async (context) => {
  const nginx = await context.nginx();
  const vexel = await context.vexel();
  const rounds = Math.min(context.rounds, maxRounds);
  const figures: Record<string, RequestFigures[]> = { nginx: [], new: [], cached: [] };
  // The first round warms the code up.
  for (let round = 0; round <= rounds; round++) {
    context.log(`${name}: round ${round} of ${rounds}`);
    const body = bodyOf(round);
    const measured = {
      nginx: nginx && (await measure(nginx, "/embedded-images/v2/embed", body, false)),
      new: await measure(vexel, "/v1/embeddings", body, true),
      cached: await measure(vexel, "/v1/embeddings", body, true),
    };
    for (const [label, one] of Object.entries(measured))
      if (one && round > 0) figures[label]?.push(one);
  }
  await Promise.all([nginx, vexel].map((proxy) => proxy?.process.stop()));
  const measured = Object.entries(figures).filter(([, list]) => list.length > 0);
  const columns = Object.fromEntries(measured.map(([label, list]) => [label, summaryOf(list)]));
  return {
    text: [name, ...Object.entries(columns).map(([label, one]) => lineOf(label, one))].join("\n"),
    figures: { name, ...columns },
    verdicts: [],
  };
};
