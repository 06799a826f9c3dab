/** vexel keys: creates, lists and revokes API keys. A running gateway applies changes within a second. */

import { existsSync } from "node:fs";
import { generateKey } from "../server/auth/generate-key.ts";
import { matchesGlob } from "../server/lib/glob.ts";
import { quotedList } from "../server/lib/quoted-list.ts";
import { ownCommand } from "../server/process/own-command.ts";
import type { Settings } from "../server/settings.ts";
import type { KeyStore } from "../server/storage/sql/key-store.ts";
import type { KeySettings, StoredKey } from "../server/storage/sql/stored-key.ts";
import {
  type Command,
  configNamedBy,
  readArguments,
  settingsOrUsage,
  table,
  UsageError,
  unknownAction,
} from "./command.ts";
import {
  describeBudget,
  describeDefaults,
  describeLimits,
  readKeySettings,
  settingArguments,
} from "./key-settings.ts";
import { openKeys } from "./open-stores.ts";
import { writeError, writeOutput } from "./write.ts";

export const keys: Command = {
  name: "keys",
  summary: "Create, list and revoke API keys.",
  help: `Usage: vexel keys create --name NAME [--models GLOB,GLOB] [--project NAME]
                         [--requests-per-minute N] [--tokens-per-minute N]
                         [--images-per-minute N] [--megapixels-per-minute N]
                         [--concurrent N] [--expires YYYY-MM-DD]
                         [--default-embedding MODEL] [--default-image MODEL]
                         [--budget-day DOLLARS] [--budget-month DOLLARS]
                         [--budget-total DOLLARS] [--unknown-price allow|refuse]
                         [--parameters adapt|strict|drop|pass] [--priority batch]
                         [--show-cost]
       vexel keys list [--json]
       vexel keys revoke ID-OR-NAME

A new key is printed once and cannot be shown again. Without --models the key may
use every model. --default-embedding and --default-image name the models of requests
without a model. Without limits or a budget of its own, only those of its project and
of the models apply. Projects are those of vexel.yaml, the console and the admin API.
Budgets are in US dollars; days and months are in UTC. --parameters sets what happens
to parameters that an image model does not support. With --priority batch all requests
of the key are batch requests. With --show-cost its responses have the header vexel-cost.
Keys in vexel.yaml are managed there: "keys list" only names them. A running
gateway applies changes within a second.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      name: { type: "string" },
      models: { type: "string" },
      ...settingArguments,
      json: { type: "boolean" },
    });
    const [action, target, ...more] = positionals;
    if (more.length > 0 || (action !== "revoke" && target !== undefined)) {
      throw new UsageError(`unexpected argument "${more[0] ?? target}".`);
    }
    const runAction = readAction(action, target, values, readKeySettings(values, Date.now()));
    const settings = settingsOrUsage();
    // Only `create` creates the folder: a typo in VEXEL_DATA must not leave an empty folder behind.
    const store = await openKeys(settings, action === "create");
    try {
      return await runAction(store, settings);
    } finally {
      await store.close();
    }
  },
};

interface Values {
  readonly name?: string | undefined;
  readonly models?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Validates the arguments before the key store is opened. */
function readAction(
  action: string | undefined,
  target: string | undefined,
  { name, models = "*", json = false }: Values,
  keySettings: KeySettings,
): (store: KeyStore, settings: Settings) => Promise<number> {
  const [given] = Object.keys(keySettings);
  if (action !== "create" && given !== undefined) {
    throw new UsageError(
      'a project, limits, a budget, default models, --parameters, --priority, --show-cost and --expires are options of "create".',
    );
  }
  switch (action) {
    case "create": {
      if (name === undefined) {
        throw new UsageError(
          "--name is missing: the console, the log and the ledger show the key by it, such as --name web.",
        );
      }
      const globs = readModelGlobs(name, models);
      checkDefaultModels(keySettings.defaults, globs);
      return async (store, settings) => {
        // Loaded on demand: other actions need no configuration.
        const { checkKeyReferences } = await import("./check-key-references.ts");
        await checkKeyReferences({ name, models: globs, ...keySettings }, settings);
        return create(store, name, globs, keySettings);
      };
    }
    case "list":
      return (store, settings) => list(store, settings, json);
    case "revoke":
      if (target === undefined)
        throw new UsageError("missing argument: the id or name of the key.");
      return (store) => revoke(store, target);
    default:
      throw unknownAction(action, ["create", "list", "revoke"]);
  }
}

function readModelGlobs(name: string, models: string): string[] {
  const globs = models.split(",").map((glob) => glob.trim());
  if (globs.some((glob) => glob === ""))
    throw new UsageError("--models must not have an empty entry.");
  // The rules of vexel.yaml: names appear in logs, lists and error messages.
  if (!/^[^\p{C}]{1,200}$/u.test(name)) {
    throw new UsageError("--name must have 1 to 200 printable characters.");
  }
  if (globs.some((glob) => !/^[^\s\p{C}]{1,200}$/u.test(glob))) {
    throw new UsageError("--models must be model ids or globs, separated by commas.");
  }
  return globs;
}

function checkDefaultModels(
  defaults: KeySettings["defaults"] = {},
  globs: readonly string[],
): void {
  for (const [kind, model] of Object.entries(defaults)) {
    if (globs.some((glob) => matchesGlob(glob, model))) continue;
    throw new UsageError(
      `--default-${kind} is "${model}", which the key may not use: add it to --models.`,
    );
  }
}

async function create(
  store: KeyStore,
  name: string,
  globs: readonly string[],
  settings: KeySettings,
): Promise<number> {
  const { text, key } = generateKey(name, globs, settings, Date.now());
  await store.create(key);
  // Standard output has the key alone, so that a script can read it.
  writeError(`Created key "${key.name}" (${key.id}). It is shown only once:\n`);
  writeOutput(`${text}\n`);
  return 0;
}

const pageSize = 1000;

const columnTitles = [
  "ID",
  "NAME",
  "KEY",
  "MODELS",
  "DEFAULTS",
  "PROJECT",
  "LIMITS",
  "BUDGET",
  "PARAMETERS",
  "PRIORITY",
  "CREATED",
  "EXPIRES",
  "REVOKED",
];

async function list(store: KeyStore, settings: Settings, asJson: boolean): Promise<number> {
  const shown = (await allKeys(store)).map(({ hash, ...rest }) => rest);
  await mentionFileKeys(settings);
  if (asJson) {
    writeOutput(`${JSON.stringify(shown, null, 2)}\n`);
    return 0;
  }
  const date = (at: number | null): string =>
    at === null ? "" : new Date(at).toISOString().slice(0, 16);
  const rows = shown.map(({ id, name, hint, models, createdAt, revokedAt, ...more }) => [
    id,
    name,
    `${hint}…`,
    models.join(","),
    describeDefaults(more.defaults),
    more.project ?? "",
    describeLimits(more.limits),
    describeBudget(more.budget),
    more.parameters ?? "",
    more.priority ?? "",
    date(createdAt),
    date(more.expiresAt ?? null),
    date(revokedAt),
  ]);
  writeOutput(`${table([columnTitles, ...rows])}\n`);
  return 0;
}

/** The most keys of the file that are named. */
const maxNamed = 20;

/** Standard output has the stored keys alone. */
async function mentionFileKeys(settings: Settings): Promise<void> {
  const { VEXEL_CONFIG: path } = settings;
  if (!existsSync(path)) return;
  // Loaded on demand: other actions need no configuration.
  const { loadConfig } = await import("./load-config.ts");
  const loaded = await loadConfig(settings, configNamedBy("", undefined));
  if (!loaded.ok) {
    // Most likely a variable that only the gateway has.
    writeError(
      `The keys of ${path} are not in this list. The file has errors here: "${ownCommand("check")}" shows them.\n`,
    );
    return;
  }
  const keys = [...loaded.snapshot.keys.values()].filter(({ source }) => source === "yaml");
  if (keys.length > 0) {
    const names = quotedList(keys.slice(0, maxNamed).map(({ name }) => name));
    const more = keys.length > maxNamed ? ` and ${keys.length - maxNamed} more` : "";
    writeError(`The keys of ${path} are not in this list: ${names}${more}.\n`);
  }
}

async function allKeys(store: KeyStore): Promise<StoredKey[]> {
  const all: StoredKey[] = [];
  for (let page = await store.list({ limit: pageSize }); ; ) {
    all.push(...page.entries);
    if (page.next === undefined) return all;
    page = await store.list({ cursor: page.next, limit: pageSize });
  }
}

async function revoke(store: KeyStore, target: string): Promise<number> {
  const found = await store.findActive(target);
  const [only] = found;
  if (only && found.length === 1 && (await store.revoke(only.id, Date.now()))) {
    writeOutput(`Revoked "${only.name}" (${only.id}).\n`);
    return 0;
  }
  writeError(
    found.length > 1
      ? `${found.length} keys have the name "${target}". Revoke one of them by its id.\n`
      : `No active key has the id or name "${target}". "${ownCommand("keys list")}" lists the keys.\n`,
  );
  return 1;
}
