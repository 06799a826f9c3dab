/**
 * `npm run bench -- commits COMMIT,COMMIT SCENARIO,SCENARIO`: the CPU of nginx, of the gateways of other commits and of
 * that of the working tree for the same requests, in many short rounds in turns. On a machine with other load it shows
 * differences that the long rounds of `--against` do not, because each round of one gateway is compared with one that
 * began milliseconds later. It measures neither latencies nor memory, and has no targets.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkOut } from "./checkout.ts";
import { createContext } from "./context.ts";
import { sendRequests } from "./fixed-load.ts";
import { median } from "./measure.ts";
import { cpuNanoseconds } from "./proc.ts";
import { cores, endWithParent, firstLine, start, stopAll } from "./processes.ts";
import * as scenarios from "./scenarios.ts";

const measured = {
  uncached: scenarios.uncachedText,
  limited: scenarios.limitedText,
  cached: scenarios.cachedText,
  floats: scenarios.floats,
  many: scenarios.manyTexts,
  most: scenarios.mostTexts,
  "many-floats": scenarios.manyTextsAsFloats,
  numbers: scenarios.numbersAsBase64,
  "numbers-floats": scenarios.numbersAsFloats,
  image: scenarios.image,
  edit: scenarios.edit,
} as const satisfies Readonly<Record<string, scenarios.Scenario>>;

const rounds = 60;
/** CPU time of the working tree in one round. */
const roundMs = 40;
/** The JIT compiler works for the first seconds. */
const warmUpMs = 4000;

const [commits = "", names = Object.keys(measured).join()] = process.argv.slice(2);
const chosen = names.split(",").map((name) => {
  const scenario = Object.entries(measured).find(([each]) => each === name)?.[1];
  if (!scenario) throw new Error(`there is no scenario ${name}: ${Object.keys(measured).join()}`);
  return { name, scenario };
});
const folder = mkdtempSync(join(tmpdir(), "vexel-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
endWithParent(chosen.length * 300_000);
const others = commits.split(",").filter(Boolean);
const checkouts = others.map((commit) => checkOut(commit, folder));
const source = start([process.execPath, join(import.meta.dir, "upstream.ts")], cores.rest, {
  listen: true,
});
const upstream = `http://127.0.0.1:${await firstLine(source)}`;
const context = createContext({ folder, upstream, seconds: 0, rounds, against: checkouts });

for (const { name, scenario } of chosen) {
  const nginx = await context.nginx();
  const gateways = await Promise.all(context.others.map((other) => other.start()));
  const proxies = [...(nginx ? [nginx] : []), ...gateways, await context.vexel()];
  const titles = [...(nginx ? ["nginx"] : []), ...checkouts.map((each) => each.name), "now"];
  const run = async (at: number, requests: number): Promise<number> => {
    const { url, process: child } = proxies[at]!;
    const before = cpuNanoseconds(child.pid);
    await sendRequests(url, scenario, requests);
    return (cpuNanoseconds(child.pid) - before) / 1000;
  };
  const last = proxies.length - 1;
  let requests: number = scenario.connections;
  for (let at = 0; at <= last; at++) {
    for (let us = 0; us < (titles[at] === "nginx" ? 0.1 : 1) * warmUpMs * 1000; ) {
      const taken = await run(at, requests);
      us += taken;
      // The first rounds take longer than the others.
      if (at === last) requests = Math.ceil((requests * roundMs * 1000) / taken);
    }
  }
  const figures: number[][] = proxies.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (let step = 0; step <= last; step++) {
      const at = (round + step) % proxies.length;
      figures[at]!.push((await run(at, requests)) / requests);
    }
  }
  const now = figures[last]!;
  for (const [at, title] of titles.entries()) {
    const ratios = now.map((us, round) => us / figures[at]![round]!).toSorted((a, b) => a - b);
    const [low, high] = [ratios[rounds / 4]!, ratios[(rounds * 3) / 4]!];
    const cpu = `${median(figures[at]!).toFixed(1)} us`;
    const range = `${low.toFixed(2)} to ${high.toFixed(2)} in half of the rounds`;
    const least = (leastTenth(now) / leastTenth(figures[at]!)).toFixed(2);
    console.log(
      `${name.padEnd(15)} ${title.padEnd(8)} ${cpu.padStart(12)}  now: ${median(ratios).toFixed(2)} x (${range}; lowest tenth of each ${least})`,
    );
  }
  await Promise.all(proxies.map((proxy) => proxy.process.stop()));
}
await stopAll();
process.exit();

function leastTenth(figures: readonly number[]): number {
  return figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 10)]!;
}
