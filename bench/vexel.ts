/**
 * Starts the gateway under test with the default settings: ledger, cache, micro-batching, and a log of level info to a
 * file.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunningProxy } from "./nginx.ts";
import { cores, freePort, ready, start } from "./processes.ts";
import { key, limitedKey } from "./scenarios.ts";

/** The working tree of this repository. */
export const workingTree = join(import.meta.dir, "..");

/** Starts the gateway of a checkout. */
export const serveCommand = (checkout: string): readonly string[] => [
  process.execPath,
  "--no-install",
  join(checkout, "cli/main.ts"),
  "serve",
];

export interface GatewayOptions {
  /** For configuration, data and log. */
  readonly folder: string;
  readonly upstream: string;
  /** The repository whose gateway, configuration and environment are used; by default the working tree. */
  readonly checkout?: string;
  /** Started instead of the checkout's own gateway. */
  readonly command?: readonly string[] | undefined;
  readonly settings?: Readonly<Record<string, string>> | undefined;
}

export async function startVexel(options: GatewayOptions): Promise<RunningProxy> {
  const { folder, upstream, checkout = workingTree, settings = {} } = options;
  const command = options.command ?? serveCommand(checkout);
  mkdirSync(folder, { recursive: true });
  // That of the working tree for every commit: an earlier one lacks the models of later scenarios.
  const template = readFileSync(join(workingTree, "bench/vexel.yaml"), "utf8");
  // Names of settings differ between commits.
  const environment = JSON.parse(readFileSync(join(checkout, "bin/environment.json"), "utf8"));
  const configuration = template
    .replaceAll("{{upstream}}", upstream)
    .replaceAll("{{key}}", key)
    .replaceAll("{{limitedKey}}", limitedKey);
  writeFileSync(join(folder, "vexel.yaml"), configuration);
  const port = freePort();
  const env = {
    ...environment,
    HOST: "127.0.0.1",
    PORT: String(port),
    VEXEL_CONFIG: join(folder, "vexel.yaml"),
    VEXEL_DATA: join(folder, "data"),
    // For replacement commands (`--vexel`), which may read no configuration.
    BENCH_UPSTREAM: upstream,
    ...settings,
  };
  const child = start(command, cores.proxy, { env, logFile: join(folder, "log.jsonl") });
  const url = `http://127.0.0.1:${port}`;
  return { url, process: child, readyMs: (await ready(`${url}/readyz`, child)) - child.startedAt };
}
