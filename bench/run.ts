/**
 * `bun bench/run.ts [--check] [--json FILE] [--vexel COMMAND] [--seconds N] [--rounds N]`
 * The gateway and nginx in front of one upstream, in one run, on one machine. Loopback only.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { watchBystanders } from "./bystanders.ts";
import { generator, tryOnce } from "./load.ts";
import { type Figures, median, medians, underLoad, underUploads } from "./measure.ts";
import { type Contender, startNginx } from "./nginx.ts";
import { rssMegabytes } from "./proc.ts";
import { cores, endWithUs, firstLine, pinned, start, stopAll } from "./processes.ts";
import { print, type Report, type ScenarioReport, verdicts } from "./report.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { ownCommand, startVexel } from "./vexel.ts";

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    json: { type: "string" },
    vexel: { type: "string" },
    seconds: { type: "string", default: "7" },
    rounds: { type: "string", default: "3" },
  },
});
const [seconds, rounds] = [Number(options.seconds), Number(options.rounds)];
const command = options.vexel?.split(" ") ?? ownCommand;
const folder = mkdtempSync(join(tmpdir(), "vexel-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const warmSeconds = 3;
// Without options a run takes about a minute; asking for more time moves the limit.
endWithUs(Math.max(90, 2 * rounds * seconds + 45) * 1000);

const say = (what: string) => console.error(`bench: ${what}`);
let starts = 0;
const freshVexel = (upstream: string) =>
  startVexel(join(folder, `vexel-${starts++}`), upstream, command);

async function compare(
  scenario: Scenario,
  vexel: Contender,
  nginx?: Contender,
): Promise<ScenarioReport> {
  const proxies = [...(nginx ? [nginx] : []), vexel];
  const [first, ...others] = await Promise.all(proxies.map(({ url }) => tryOnce(url, scenario)));
  if (others.some((other) => JSON.stringify(JSON.parse(other)) !== first))
    say("the answers of nginx and the gateway differ");
  for (const proxy of proxies) await underLoad(proxy, scenario, warmSeconds, folder);
  const figures = new Map<Contender, Figures[]>(proxies.map((proxy) => [proxy, []]));
  for (let round = 1; round <= rounds; round++) {
    say(`${scenario.name}: round ${round} of ${rounds}`);
    for (const [proxy, list] of figures)
      list.push(await underLoad(proxy, scenario, seconds, folder));
  }
  const of = (proxy: Contender) => medians(figures.get(proxy) ?? []);
  const { name, connections } = scenario;
  return { name, connections, vexel: of(vexel), ...(nginx && { nginx: of(nginx) }) };
}

async function measure(): Promise<Report> {
  const source = start([process.execPath, join(import.meta.dir, "upstream.ts")], cores.rest, {
    listen: true,
  });
  const upstream = `http://127.0.0.1:${await firstLine(source)}`;
  say("starting");
  const nginx = await startNginx(join(folder, "nginx"), upstream);

  const first = await freshVexel(upstream);
  await Bun.sleep(1000);
  const restMegabytes = rssMegabytes(first.process.pid);
  const reports: ScenarioReport[] = [];
  const bystanders = watchBystanders();
  for (const scenario of scenarios) reports.push(await compare(scenario, first, nginx));
  const coresOfOthers = bystanders();
  await first.process.stop();
  await nginx?.process.stop();

  say("uploads");
  const second = await freshVexel(upstream);
  const freshNginx = await startNginx(join(folder, "nginx"), upstream);
  const uploads = {
    vexel: await underUploads(second),
    ...(freshNginx && { nginx: await underUploads(freshNginx) }),
  };
  await second.process.stop();
  const third = await freshVexel(upstream);
  return {
    generator,
    pinned,
    seconds,
    rounds,
    coresOfOthers,
    scenarios: reports,
    restMegabytes,
    readyMs: [first.readyMs, second.readyMs, third.readyMs],
    uploads,
  };
}

try {
  const report = await measure();
  const judged = verdicts(report, median(report.readyMs));
  print(report, judged);
  if (options.json)
    await Bun.write(options.json, `${JSON.stringify({ ...report, verdicts: judged }, null, 2)}\n`);
  process.exitCode = options.check && judged.some(({ met }) => !met) ? 1 : 0;
} catch (error) {
  say(`could not run: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}
await stopAll();
process.exit();
