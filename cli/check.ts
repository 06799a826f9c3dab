/** vexel check: is the configuration valid, and (with --probe) are its upstreams there? */

import { existsSync } from "node:fs";
import { fileText } from "../server/config/file-text.ts";
import { loadSnapshot } from "../server/config/load-snapshot.ts";
import { describeProblems } from "../server/config/problem.ts";
import type { Defaults, Snapshot } from "../server/config/snapshot.ts";
import { lengthOf } from "../server/embeddings/vector-formats.ts";
import { GatewayError } from "../server/lib/gateway-error.ts";
import type { EmbeddingsQuery, Upstream } from "../server/upstream/contract.ts";
import { type Probe, probe } from "../server/upstream/probe.ts";
import { createSend, needsFetch } from "../server/upstream/transport/send.ts";
import { unknownSettings } from "../server/wiring/unknown-settings.ts";
import { createLocal } from "../server/workers/embedding/local.ts";
import { inspectModelDirectory } from "../server/workers/embedding/model-directory.ts";
import { isMiganInstalled } from "../server/workers/inpainting/migan.ts";
import { type Command, readArguments, settingsOrUsage, UsageError } from "./command.ts";

const probeTimeoutMs = 10_000;

export const check: Command = {
  name: "check",
  summary: "Validate the configuration; with --probe also contact its upstreams.",
  help: `Usage: vexel check [FILE] [--probe]

Reads FILE (or VEXEL_CONFIG, or ./vexel.yaml) and tells everything that is wrong
with it: file, line, key. With --probe it also asks each upstream for its list of
models, which costs nothing, and loads each local model. Exit code 0: all is well. 1: something is not.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, { probe: { type: "boolean" } });
    if (positionals.length > 1) throw new UsageError("it checks one file at a time.");
    const [file] = positionals;
    const { VEXEL_CONFIG: path } = settingsOrUsage({ VEXEL_CONFIG: file });
    const required = Boolean(file ?? process.env.VEXEL_CONFIG);
    const loaded = loadSnapshot({
      path,
      required,
      env: process.env,
      migan: isMiganInstalled(),
      inspectFolder: inspectModelDirectory,
      now: Date.now(),
    });
    if (!loaded.ok) {
      process.stderr.write(`${describeProblems(loaded.problems)}\n`);
      return 1;
    }
    for (const warning of [...loaded.warnings, ...strayVariables(path)]) {
      process.stderr.write(`warning: ${warning}\n`);
    }
    const { snapshot } = loaded;
    const about = existsSync(path) ? `${path} is valid` : `${path} is not there, which is fine`;
    process.stdout.write(
      `${about}: ${snapshot.upstreams.size} upstreams, ${snapshot.models.size} models, ${snapshot.keys.size} keys.\n`,
    );
    process.stdout.write(describeDefaults(snapshot));
    return !values.probe || (await probeAll(snapshot)) ? 0 : 1;
  },
};

/** The models of requests that name none. */
function describeDefaults({ defaults, keys }: Snapshot): string {
  const list = (of: Defaults | undefined): string[] =>
    Object.entries(of ?? {}).map(([kind, model]) => `${kind} model ${model}`);
  const lines = [
    ...list(defaults).map((what) => `default ${what}`),
    ...[...keys.values()].flatMap((key) =>
      list(key.defaults).map((what) => `key ${JSON.stringify(key.name)}: default ${what}`),
    ),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const strayVariables = (path: string): string[] =>
  unknownSettings(process.env, fileText(path).text).map(
    ({ name, nearest }) =>
      `${name} is set, but it is no setting${nearest ? ` (did you mean ${nearest}?)` : ""}`,
  );

async function probeAll(snapshot: Snapshot): Promise<boolean> {
  const { send, close } = createSend({
    maxAnswerBytes: 16 * 1024 * 1024,
    clock: () => performance.now(),
    byFetch: needsFetch(process.env),
  });
  const outcomes = await Promise.all(
    [...snapshot.upstreams.values()].map((upstream) =>
      upstream.kind === "local"
        ? probeLocal(upstream)
        : probe(upstream, { send, timeoutMs: probeTimeoutMs, now: Date.now }),
    ),
  );
  close();
  for (const { upstream, ok, detail } of outcomes) {
    process.stdout.write(`${ok ? "ok    " : "FAILED"} ${upstream}: ${detail}\n`);
  }
  return outcomes.every(({ ok }) => ok);
}

/** Loads the model and embeds a word: only that shows that the files fit together. */
async function probeLocal(upstream: Upstream): Promise<Probe> {
  const engine = createLocal();
  const query: EmbeddingsQuery = {
    model: upstream.id,
    input: { kind: "text", texts: ["probe"] },
    single: true,
    encoding: "float",
    rest: {},
  };
  try {
    const target = { upstream, model: upstream.id };
    const { vectors } = await engine.embeddings(query, target, AbortSignal.timeout(60_000));
    const detail = `it loads and gives ${vectors[0] && lengthOf(vectors[0])} dimensions`;
    return { upstream: upstream.id, ok: true, detail };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { upstream: upstream.id, ok: false, detail: error.details.logDetail ?? error.message };
  } finally {
    await engine.close();
  }
}
