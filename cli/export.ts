/** vexel export: API keys and configuration as files, for another gateway. */
import { existsSync, writeFileSync } from "node:fs";
import type { Key } from "../server/config/snapshot.ts";
import { describeProblems } from "../server/config/yaml/problem.ts";
import type { Settings } from "../server/settings.ts";
import type { StoredKey } from "../server/storage/sql/stored-key.ts";
import {
  type Command,
  configNamedBy,
  readArguments,
  settingsOrUsage,
  UsageError,
} from "./command.ts";
import { configYaml } from "./export/config-yaml.ts";
import { type ExportedKey, keyCsv } from "./export/key-csv.ts";
import { loadConfig } from "./load-config.ts";
import { hasEntities, openEntities, openKeys } from "./open-stores.ts";
import { onOneLine, writeOutput } from "./write.ts";

export const exportCommand: Command = {
  name: "export",
  summary: "Write API keys as CSV and the configuration as vexel.yaml.",
  help: `Usage: vexel export [--keys FILE] [--yaml FILE] [--force]

--keys writes the active API keys of vexel.yaml and of the store as CSV: name, SHA-256 of
the key, project, models, limits and budgets. "vexel import csv" reads it. --yaml writes the
configuration of vexel.yaml and of the store as one file, without keys. Its secrets are
variables, which are listed: set them to the secrets before the file is used. Upstreams of
the environment are not in it. A file that exists is replaced only with --force.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      keys: { type: "string" },
      yaml: { type: "string" },
      force: { type: "boolean" },
    });
    const [unexpected] = positionals;
    if (unexpected !== undefined) throw new UsageError(`unexpected argument "${unexpected}".`);
    const { keys, yaml, force = false } = values;
    if (keys === undefined && yaml === undefined) throw new UsageError("name --keys or --yaml.");
    for (const path of [keys, yaml])
      if (path !== undefined && !force && existsSync(path))
        throw new UsageError(`${path} exists: --force replaces it.`);
    const settings = settingsOrUsage();
    if (keys !== undefined) await exportKeys(keys, settings);
    if (yaml !== undefined) await exportConfig(yaml, settings);
    return 0;
  },
};

/** Only its owner may read the file: it has the hashes of keys. */
function writeTo(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(
      `${path} cannot be written: ${error instanceof Error ? error.message : error}`,
    );
  }
}

async function exportKeys(path: string, settings: Settings): Promise<void> {
  const now = Date.now();
  const isActive = ({ expiresAt }: Pick<Key, "expiresAt">): boolean =>
    expiresAt === undefined || expiresAt > now;
  const keys: readonly ExportedKey[] = [
    ...(await fileKeys(settings)),
    ...(await storedKeys(settings)),
  ];
  const active = keys.filter(isActive);
  writeTo(path, keyCsv(active));
  writeOutput(onOneLine(`Wrote ${active.length} keys to ${path}.`).concat("\n"));
}

async function fileKeys(settings: Settings): Promise<readonly ExportedKey[]> {
  if (!existsSync(settings.VEXEL_CONFIG)) return [];
  const loaded = await loadConfig(settings, configNamedBy("", undefined));
  if (!loaded.ok) throw new UsageError(describeProblems(loaded.problems), "settings");
  return [...loaded.snapshot.keys.values()]
    .filter(({ source }) => source === "yaml")
    .map((key) => ({ ...key, hint: key.hash.slice(0, 10) }));
}

const pageSize = 1000;

async function storedKeys(settings: Settings): Promise<readonly ExportedKey[]> {
  if (!hasEntities(settings)) return [];
  const store = await openKeys(settings, false);
  try {
    const found: StoredKey[] = [];
    for (let page = await store.list({ limit: pageSize }); ; ) {
      found.push(...page.entries.filter(({ revokedAt }) => revokedAt === null));
      if (page.next === undefined) return found;
      page = await store.list({ cursor: page.next, limit: pageSize });
    }
  } finally {
    await store.close();
  }
}

async function exportConfig(path: string, settings: Settings): Promise<void> {
  const store = hasEntities(settings) ? await openEntities(settings) : undefined;
  try {
    const { text, variables } = configYaml(settings.VEXEL_CONFIG, (await store?.list()) ?? []);
    writeTo(path, text);
    writeOutput(
      variables.length === 0
        ? `Wrote ${onOneLine(path)}. It has no secrets.\n`
        : `Wrote ${onOneLine(path)}. Set these variables to the secrets:\n${variables.map((name) => `  ${name}\n`).join("")}`,
    );
  } finally {
    await store?.close();
  }
}
