/** vexel check: validates the configuration and, with --probe, checks that its upstreams are reachable. */

import { existsSync } from "node:fs";
import type { Defaults, Snapshot } from "../server/config/snapshot.ts";
import { describeProblems } from "../server/config/yaml/problem.ts";
import { fileText } from "../server/config/yaml/yaml-file.ts";
import { dimensionsOf } from "../server/embeddings/vector-formats.ts";
import { CertificateError, readCertificate } from "../server/http/certificate.ts";
import { GatewayError } from "../server/lib/gateway-error.ts";
import { quotedList } from "../server/lib/quoted-list.ts";
import type { Settings } from "../server/settings.ts";
import { unknownSettings } from "../server/unknown-settings.ts";
import { testConnection } from "../server/upstream/connection-test/test-connection.ts";
import type { EmbeddingsQuery, Upstream } from "../server/upstream/contract.ts";
import { createCredentialCache } from "../server/upstream/credentials/credential-cache.ts";
import { systemResolve } from "../server/upstream/download/index.ts";
import { kinds } from "../server/upstream/kinds.ts";
import { createTransport, needsFetch } from "../server/upstream/transport/index.ts";
import { createLocal } from "../server/workers/embedding/local.ts";
import { inspectModelDirectory } from "../server/workers/embedding/model-directory.ts";
import {
  type Command,
  configNamedBy,
  readArguments,
  settingsOrUsage,
  UsageError,
} from "./command.ts";
import { loadConfig } from "./load-config.ts";
import { writeError, writeOutput } from "./write.ts";

const probeTimeoutMs = 10_000;

export const check: Command = {
  name: "check",
  summary: "Validate the configuration; with --probe also contact its upstreams.",
  help: `Usage: vexel check [FILE] [--probe]

Validates FILE (or VEXEL_CONFIG, or ./vexel.yaml) and prints every error with file,
line and key. Also checks the files of the TLS certificate (VEXEL_TLS_CERT and
VEXEL_TLS_KEY). With --probe it also sends each upstream a request that is free of
charge, such as one for the list of models, and loads each local model. "unknown":
the response is no such list, so the baseUrl may be wrong. At Infinity and Xinference,
the models of the targets must be in the list.

Exit codes: 0 no errors, 1 the configuration or an upstream has an error.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, { probe: { type: "boolean" } });
    if (positionals.length > 1) throw new UsageError("only one FILE can be checked at a time.");
    const [file] = positionals;
    const settings = settingsOrUsage({ VEXEL_CONFIG: file });
    const path = settings.VEXEL_CONFIG;
    const loaded = await loadConfig(settings, configNamedBy("", file), {
      inspectFolder: inspectModelDirectory,
    });
    const problems = [
      ...(loaded.ok ? [] : [describeProblems(loaded.problems)]),
      ...certificateProblems(settings),
    ];
    if (problems.length > 0) writeError(`${problems.join("\n")}\n`);
    if (!loaded.ok || problems.length > 0) return 1;
    for (const warning of [...loaded.warnings, ...unknownSettingWarnings(path)]) {
      writeError(`warning: ${warning}\n`);
    }
    const { snapshot } = loaded;
    const about = existsSync(path)
      ? `${path} is valid`
      : `${path} does not exist, so the defaults apply`;
    writeOutput(
      `${about}: ${count(snapshot.upstreams, "upstream")}, ${count(snapshot.models, "model")}, ${count(snapshot.keys, "key")}.\n`,
    );
    writeOutput(describeDefaults(snapshot));
    return !values.probe || (await probeAll(snapshot)) ? 0 : 1;
  },
};

const count = ({ size }: { readonly size: number }, noun: string): string =>
  `${size} ${noun}${size === 1 ? "" : "s"}`;

/** The files of the TLS certificate are checked as at the start. */
function certificateProblems(settings: Settings): string[] {
  try {
    const { VEXEL_TLS_CERT: certPath, VEXEL_TLS_KEY: keyPath } = settings;
    if (certPath !== "") readCertificate({ certPath, keyPath });
    return [];
  } catch (error) {
    if (error instanceof CertificateError) return [error.message];
    throw error;
  }
}

/** The default models, for requests without `model`. */
function describeDefaults({ defaults, keys }: Snapshot): string {
  const list = (of: Defaults | undefined): string[] =>
    Object.entries(of ?? {}).map(([kind, model]) => `${kind} model ${model}`);
  const lines = [
    ...list(defaults).map((model) => `default ${model}`),
    ...[...keys.values()].flatMap((key) =>
      list(key.defaults).map((model) => `key ${JSON.stringify(key.name)}: default ${model}`),
    ),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

const unknownSettingWarnings = (path: string): string[] =>
  unknownSettings(process.env, fileText(path).text).map(
    ({ name, nearest }) =>
      `${name} is set, but there is no such setting${nearest ? ` (did you mean ${nearest}?)` : ""}`,
  );

interface Probe {
  readonly upstream: string;
  readonly result: "ok" | "FAILED" | "unknown";
  readonly detail: string;
}

async function probeAll(snapshot: Snapshot): Promise<boolean> {
  const clock = (): number => performance.now();
  const fetchOnly = needsFetch(process.env);
  const { send, sendDirect, close } = createTransport({
    maxResponseBytes: 16 * 1024 * 1024,
    clock,
    fetchOnly,
  });
  const options = {
    send,
    credentials: createCredentialCache({
      send,
      sendToMetadata: sendDirect,
      now: Date.now,
      env: process.env,
    }),
    clock,
    timeoutMs: probeTimeoutMs,
    resolve: systemResolve,
    isProxied: ({ protocol }: URL) => (protocol === "https:" ? fetchOnly.https : fetchOnly.http),
  };
  const probe = async (upstream: Upstream): Promise<Probe> => {
    const { problem, steps, models } = await testConnection(upstream, options);
    const checked = steps.filter(({ step }) => step === "http" || step === "credential");
    const found = checked.map((step) => step.detail).join(" ");
    if (problem !== null) return { upstream: upstream.id, result: "FAILED", detail: problem };
    const unlisted = models && describeUnlisted(upstream, models, snapshot);
    if (unlisted) return { upstream: upstream.id, result: "FAILED", detail: unlisted };
    const isKnown = steps.every(({ result }) => result !== "unknown");
    return { upstream: upstream.id, result: isKnown ? "ok" : "unknown", detail: found.trim() };
  };
  const outcomes = await Promise.all(
    [...snapshot.upstreams.values()].map((upstream) =>
      upstream.kind === "local" ? probeLocal(upstream) : probe(upstream),
    ),
  );
  close();
  for (const { upstream, result, detail } of outcomes) {
    writeOutput(`${result.padEnd(7)} ${upstream}: ${detail}\n`);
  }
  return outcomes.every(({ result }) => result !== "FAILED");
}

/** The targets of an upstream whose models are not in its list, if the list has every model that it serves. */
function describeUnlisted(
  { id, kind }: Upstream,
  served: readonly string[],
  { models }: Snapshot,
): string | undefined {
  if (!kinds.get(kind)?.listsEveryModel) return undefined;
  const names = [...models.values()].flatMap(({ targets }) =>
    targets.filter(({ upstream }) => upstream.id === id).map(({ model }) => model),
  );
  const unlisted = [...new Set(names)].filter((name) => !served.includes(name));
  if (unlisted.length === 0) return undefined;
  const list = served.length === 0 ? "no model" : quotedList(served);
  return `It serves ${list}, but not ${quotedList(unlisted)}, which targets of models name.`;
}

/** Loads the model and embeds a word: only that proves that its files fit together. */
async function probeLocal(upstream: Upstream): Promise<Probe> {
  const builtInModel = createLocal();
  const query: EmbeddingsQuery = {
    model: upstream.id,
    input: { kind: "text", texts: ["probe"] },
    single: true,
    encoding: "float",
    extraFields: {},
  };
  try {
    const target = { upstream, model: upstream.id };
    const { vectors } = await builtInModel.embeddings(query, target, AbortSignal.timeout(60_000));
    const detail = `the model loads and has ${vectors[0] && dimensionsOf(vectors[0])} dimensions`;
    return { upstream: upstream.id, result: "ok", detail };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const detail = error.details.logDetail ?? error.message;
    return { upstream: upstream.id, result: "FAILED", detail };
  } finally {
    await builtInModel.close();
  }
}
