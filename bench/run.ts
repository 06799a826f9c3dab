/**
 * `bun bench/run.ts [--check] [--only SCENARIO,SCENARIO] [--json FILE] [--vexel COMMAND] [--against
 * COMMIT,COMMIT] [--seconds N] [--rounds N]`: the gateway, nginx as the reference, and one upstream, in one run on one machine. Loopback only.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkOut } from "./checkout.ts";
import { createContext, type RunScenario } from "./context.ts";
import { generator } from "./load.ts";
import { isNginxInstalled } from "./nginx.ts";
import { watchOtherLoad } from "./other-load.ts";
import { cores, endWithParent, firstLine, pinned, start, stopAll } from "./processes.ts";
import { print, type Report } from "./report.ts";
import type { ScenarioResult } from "./result.ts";
import { againstNginx } from "./scenarios/against-nginx.ts";
import { atRest } from "./scenarios/at-rest.ts";
import { batching } from "./scenarios/batching.ts";
import { concurrentResponses } from "./scenarios/concurrent-responses.ts";
import { converted } from "./scenarios/convert.ts";
import { largeEdits } from "./scenarios/edits.ts";
import { embeddedImagesInOneRequest } from "./scenarios/embedded-images.ts";
import { inFloats } from "./scenarios/floats.ts";
import { fullCache } from "./scenarios/full-cache.ts";
import { imageDownloads } from "./scenarios/image-downloads.ts";
import { l2 } from "./scenarios/l2.ts";
import { observed } from "./scenarios/observed.ts";
import { inOutputTypes } from "./scenarios/output-types.ts";
import { singleClient } from "./scenarios/single-client.ts";
import { viewers } from "./scenarios/viewers.ts";
import { fromColdStart } from "./scenarios/warm-up.ts";
import { workers } from "./scenarios/workers.ts";
import {
  cachedText,
  edit,
  image,
  limitedText,
  manyTexts,
  manyTextsAsFloats,
  mostTexts,
  numbersAsBase64,
  numbersAsFloats,
  oneTextFromNumbers,
  passThrough,
  responseFormats,
  targets,
  uncachedText,
} from "./scenarios.ts";

const scenarios: Readonly<Record<string, RunScenario>> = {
  rest: atRest,
  cold: fromColdStart,
  uncached: againstNginx({ scenario: uncachedText, mostCpu: targets.uncachedTextNginxRatio }),
  limited: againstNginx({ scenario: limitedText, mostCpu: targets.limitedTextNginxRatio }),
  cached: againstNginx({
    scenario: cachedText,
    mostCpu: targets.cachedTextNginxRatio,
    fromCache: true,
  }),
  passthrough: againstNginx({
    scenario: passThrough,
    mostCpu: targets.passThroughNginxRatio,
    alsoLargeBuffers: true,
  }),
  many: againstNginx({ scenario: manyTexts, mostCpu: targets.manyTextsNginxRatio }),
  most: againstNginx({ scenario: mostTexts, mostCpu: targets.mostTextsNginxRatio }),
  "many-floats": againstNginx({
    scenario: manyTextsAsFloats,
    mostCpu: targets.manyFloatsNginxRatio,
  }),
  numbers: againstNginx({
    scenario: numbersAsBase64,
    mostCpu: targets.numbersNginxRatio,
    converts: true,
  }),
  "numbers-floats": againstNginx({
    scenario: numbersAsFloats,
    mostCpu: targets.numbersAsFloatsNginxRatio,
  }),
  "numbers-one": againstNginx({
    scenario: oneTextFromNumbers,
    mostCpu: targets.oneTextFromNumbersNginxRatio,
    converts: true,
  }),
  floats: inFloats,
  "output-types": inOutputTypes,
  "embedded-images": embeddedImagesInOneRequest,
  batching,
  latency: singleClient,
  "full-cache": fullCache,
  image: againstNginx({
    scenario: image,
    mostCpu: targets.imageNginxRatio,
    alsoLargeBuffers: true,
  }),
  responses: concurrentResponses(responseFormats.whole),
  streams: concurrentResponses(responseFormats.streamed),
  "converted-streams": concurrentResponses(responseFormats.convertedToStream),
  "image-links": concurrentResponses(responseFormats.asLinks),
  edit: againstNginx({ scenario: edit, mostCpu: targets.editNginxRatio, alsoLargeBuffers: true }),
  edits: largeEdits,
  downloads: imageDownloads,
  convert: converted,
  observed,
  viewers,
  workers,
  l2,
};

/** The scenarios that `--against` compares with other commits, round by round. */
const compared = [
  ...["uncached", "limited", "cached", "passthrough", "floats", "many", "most", "many-floats"],
  ...["numbers", "numbers-floats", "image", "edit"],
];

const usage = `usage: npm run bench -- [--check] [--only SCENARIO,SCENARIO] [--json FILE] [--vexel COMMAND]
  [--against COMMIT,COMMIT] [--seconds N] [--rounds N]
scenarios: ${Object.keys(scenarios).join(", ")}`;

function readOptions() {
  try {
    const { values } = parseArgs({
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
    return values;
  } catch (error) {
    console.error(`bench: ${error instanceof Error ? error.message : error}\n${usage}`);
    process.exit(2);
  }
}

const options = readOptions();
const [seconds, rounds] = [Number(options.seconds), Number(options.rounds)];
const folder = mkdtempSync(join(tmpdir(), "vexel-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
// Without options a run takes about a quarter of an hour; more seconds, rounds or commits raise the timeout.
const versions = 1 + (options.against?.split(",").length ?? 0);
endWithParent((900 + 20 * rounds * (seconds + 1) * versions) * 1000);

/** Also sets the exit code, so that the run does not pass. */
function reportFailure(what: string, error: unknown): void {
  console.error(`bench: ${what}: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}

async function measure(): Promise<Report> {
  const only = options.only?.split(",") ?? (options.against ? compared : Object.keys(scenarios));
  const chosen = only.map((name) => {
    const scenario = scenarios[name];
    if (!scenario)
      throw new Error(`there is no scenario ${name}: ${Object.keys(scenarios).join(", ")}`);
    return [name, scenario] as const;
  });
  const source = start([process.execPath, join(import.meta.dir, "upstream.ts")], cores.rest, {
    listen: true,
  });
  const upstream = `http://127.0.0.1:${await firstLine(source)}`;
  const command = options.vexel?.split(" ");
  const against = (options.against?.split(",") ?? []).map((commit) => checkOut(commit, folder));
  const context = createContext({ folder, upstream, seconds, rounds, command, against });
  const otherLoad = watchOtherLoad();
  const findings: ScenarioResult[] = [];
  for (const [name, scenario] of chosen) {
    try {
      findings.push(await scenario(context));
    } catch (error) {
      // The other results are still useful.
      reportFailure(`${name} could not be measured`, error);
      await stopAll(source);
    }
  }
  const otherCores = otherLoad();
  return { generator, pinned, seconds, rounds, otherCores, nginx: isNginxInstalled, findings };
}

try {
  const report = await measure();
  print(report);
  if (options.json) await Bun.write(options.json, `${JSON.stringify(report, null, 2)}\n`);
  const missed = report.findings.some(({ verdicts }) => verdicts.some(({ met }) => !met));
  process.exitCode ||= options.check && missed ? 1 : 0;
} catch (error) {
  reportFailure("could not run", error);
}
await stopAll();
process.exit();
