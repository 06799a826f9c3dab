/** vexel check: is the configuration valid, and (with --probe) are its upstreams there? */
import { existsSync } from "node:fs";
import { loadSnapshot } from "../server/snapshot/load.ts";
import { describeProblems } from "../server/snapshot/problem.ts";
import type { Snapshot } from "../server/snapshot/snapshot.ts";
import { inspectModelDirectory } from "../server/upstream/local/embed/model-directory.ts";
import { isMiganInstalled } from "../server/upstream/local/inpaint/migan.ts";
import { probe } from "../server/upstream/probe.ts";
import { createSend } from "../server/upstream/send.ts";
import { type Command, readArguments, settingsOrUsage, UsageError } from "./command.ts";

const probeTimeoutMs = 10_000;

export const check: Command = {
  name: "check",
  summary: "Validate the configuration; with --probe also contact its upstreams.",
  help: `Usage: vexel check [FILE] [--probe]

Reads FILE (or VEXEL_CONFIG, or ./vexel.yaml) and tells everything that is wrong
with it: file, line, key. With --probe it also asks each upstream for its list of
models, which costs nothing. Exit code 0: all is well. 1: something is not.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, { probe: { type: "boolean" } });
    if (positionals.length > 1) throw new UsageError("it checks one file at a time.");
    const [file] = positionals;
    const { VEXEL_CONFIG: path } = settingsOrUsage({ VEXEL_CONFIG: file });
    const required = Boolean(file ?? process.env.VEXEL_CONFIG);
    const loaded = loadSnapshot({ path, required, env: process.env, migan: isMiganInstalled() });
    if (!loaded.ok) {
      process.stderr.write(`${describeProblems(loaded.problems)}\n`);
      return 1;
    }
    for (const warning of loaded.warnings) process.stderr.write(`warning: ${warning}\n`);
    const { snapshot } = loaded;
    const about = existsSync(path) ? `${path} is valid` : `${path} is not there, which is fine`;
    process.stdout.write(
      `${about}: ${snapshot.upstreams.size} upstreams, ${snapshot.models.size} models, ${snapshot.keys.size} keys.\n`,
    );
    const local = await checkDirectories(snapshot);
    return (values.probe ? await probeAll(snapshot) : true) && local ? 0 : 1;
  },
};

async function checkDirectories(snapshot: Snapshot): Promise<boolean> {
  let good = true;
  for (const { id, kind, options } of snapshot.upstreams.values()) {
    if (kind !== "local") continue;
    for (const problem of inspectModelDirectory(String(options.path))) {
      process.stderr.write(`upstream ${id}: ${problem}\n`);
      good = false;
    }
  }
  return good;
}

async function probeAll(snapshot: Snapshot): Promise<boolean> {
  const send = createSend({ maxAnswerBytes: 16 * 1024 * 1024 });
  const outcomes = await Promise.all(
    [...snapshot.upstreams.values()].map((upstream) => probe(upstream, send, probeTimeoutMs)),
  );
  for (const { upstream, ok, detail } of outcomes) {
    process.stdout.write(`${ok ? "ok    " : "FAILED"} ${upstream}: ${detail}\n`);
  }
  return outcomes.every(({ ok }) => ok);
}
