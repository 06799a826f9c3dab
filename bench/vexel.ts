/** The gateway under test with the defaults that users have: ledger, cache, micro-batching, and a log of level info to a file. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Contender } from "./nginx.ts";
import { cores, freePort, ready, start } from "./processes.ts";
import { key, limitedKey } from "./scenarios.ts";

const root = join(import.meta.dir, "..");
/** As the `vexel` command sets it for users. */
const environment = JSON.parse(readFileSync(join(root, "bin/environment.json"), "utf8"));
export const ownCommand: readonly string[] = [
  process.execPath,
  "--no-install",
  join(root, "cli/main.ts"),
  "serve",
];

export async function startVexel(
  folder: string,
  upstream: string,
  command: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Contender> {
  mkdirSync(folder, { recursive: true });
  const template = readFileSync(join(import.meta.dir, "vexel.yaml"), "utf8");
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
    // For stand-ins, which read no configuration.
    BENCH_UPSTREAM: upstream,
    ...settings,
  };
  const child = start(command, cores.proxy, { env, logFile: join(folder, "log.jsonl") });
  const url = `http://127.0.0.1:${port}`;
  return { url, process: child, readyMs: (await ready(`${url}/readyz`, child)) - child.startedAt };
}
