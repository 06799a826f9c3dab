/**
 * `bun bench/run.ts [--check] [--only PART,PART] [--json FILE] [--vexel COMMAND] [--against COMMIT] [--seconds N] [--rounds N]`
 * The gateway, nginx where it is the yardstick, and one upstream, in one run, on one machine. Loopback only.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { watchBystanders } from "./bystanders.ts";
import { checkOut } from "./earlier-state.ts";
import type { Finding } from "./finding.ts";
import { generator } from "./load.ts";
import { nginxIsHere } from "./nginx.ts";
import { againstNginx } from "./parts/against-nginx.ts";
import { manyAnswers } from "./parts/answers.ts";
import { atRest } from "./parts/at-rest.ts";
import { converted } from "./parts/convert.ts";
import { largeEdits } from "./parts/edits.ts";
import { inFloats } from "./parts/floats.ts";
import { fullCache } from "./parts/full-cache.ts";
import { idle } from "./parts/idle.ts";
import { linksFetched } from "./parts/links.ts";
import { together } from "./parts/together.ts";
import { fromColdStart } from "./parts/warm-up.ts";
import { cores, endWithUs, firstLine, pinned, start, stopAll } from "./processes.ts";
import { print, type Report } from "./report.ts";
import {
  answerWays,
  knownText,
  limitedText,
  newText,
  passThrough,
  picture,
  targets,
} from "./scenarios.ts";
import { createSite, type Part } from "./site.ts";

const parts: Readonly<Record<string, Part>> = {
  rest: atRest,
  cold: fromColdStart,
  new: againstNginx({ scenario: newText, mostCpu: targets.newTextTimesNginx }),
  limited: againstNginx({ scenario: limitedText, mostCpu: targets.newTextTimesNginx }),
  known: againstNginx({
    scenario: knownText,
    mostCpu: targets.knownTextTimesNginx,
    fromCache: true,
  }),
  large: againstNginx({
    scenario: passThrough,
    mostCpu: targets.passThroughTimesNginx,
    alsoLargeBuffers: true,
  }),
  floats: inFloats,
  together,
  idle,
  cache: fullCache,
  picture: againstNginx({
    scenario: picture,
    mostCpu: targets.pictureTimesNginx,
    alsoLargeBuffers: true,
  }),
  answers: manyAnswers(answerWays.whole),
  streams: manyAnswers(answerWays.streamed),
  stills: manyAnswers(answerWays.cutUp),
  kept: manyAnswers(answerWays.kept),
  edits: largeEdits,
  links: linksFetched,
  convert: converted,
};

/** The parts that `--against` compares with another commit, round by round. */
const compared = ["new", "limited", "known", "large", "floats", "picture"];

const { values: options } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    only: { type: "string" },
    json: { type: "string" },
    vexel: { type: "string" },
    against: { type: "string" },
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "7" },
  },
});
const [seconds, rounds] = [Number(options.seconds), Number(options.rounds)];
const folder = mkdtempSync(join(tmpdir(), "vexel-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Without options a run takes about eleven minutes; asking for more time moves the limit.
endWithUs((600 + 15 * rounds * seconds) * 1000);

/** Also makes sure that nobody takes this run for a good one. */
function complain(what: string, error: unknown): void {
  console.error(`bench: ${what}: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}

async function measure(): Promise<Report> {
  const only = options.only?.split(",") ?? (options.against ? compared : Object.keys(parts));
  const chosen = only.map((name) => {
    const part = parts[name];
    if (!part) throw new Error(`no part is called ${name}: ${Object.keys(parts).join(", ")}`);
    return [name, part] as const;
  });
  const source = start([process.execPath, join(import.meta.dir, "upstream.ts")], cores.rest, {
    listen: true,
  });
  const upstream = `http://127.0.0.1:${await firstLine(source)}`;
  const command = options.vexel?.split(" ");
  const against = options.against ? checkOut(options.against, folder) : undefined;
  const site = createSite({ folder, upstream, seconds, rounds, command, against });
  const bystanders = watchBystanders();
  const findings: Finding[] = [];
  for (const [name, part] of chosen) {
    try {
      findings.push(await part(site));
    } catch (error) {
      // The others are worth having all the same.
      complain(`${name} could not be measured`, error);
      await stopAll(source);
    }
  }
  const coresOfOthers = bystanders();
  return { generator, pinned, seconds, rounds, coresOfOthers, nginx: nginxIsHere, findings };
}

try {
  const report = await measure();
  print(report);
  if (options.json) await Bun.write(options.json, `${JSON.stringify(report, null, 2)}\n`);
  const missed = report.findings.some(({ verdicts }) => verdicts.some(({ met }) => !met));
  process.exitCode ||= options.check && missed ? 1 : 0;
} catch (error) {
  complain("could not run", error);
}
await stopAll();
process.exit();
