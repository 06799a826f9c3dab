/** vexel keys: make, list and revoke API keys. A running gateway notices within a second. */
import {
  existingKeyStore,
  type KeySettings,
  type KeyStore,
  openKeyStore,
} from "../server/storage/keys.ts";
import { type Command, readArguments, settingsOrUsage, table, UsageError } from "./command.ts";
import { budgetWords, limitWords, readKeySettings, settingArguments } from "./key-settings.ts";

export const keys: Command = {
  name: "keys",
  summary: "Make, list and revoke API keys.",
  help: `Usage: vexel keys create [--name NAME] [--models GLOB,GLOB] [--project NAME]
                         [--requests-per-minute N] [--tokens-per-minute N]
                         [--images-per-minute N] [--megapixels-per-minute N]
                         [--concurrent N] [--expires YYYY-MM-DD]
                         [--budget-day DOLLARS] [--budget-month DOLLARS]
                         [--budget-total DOLLARS] [--unknown-price allow|refuse]
                         [--parameters adapt|strict|drop|pass]
       vexel keys list [--json]
       vexel keys revoke ID-OR-NAME

A new key is printed once and cannot be shown again. Without --models it may use
every model, and without limits and a budget as much as its project and the models
allow; what limits and budget a project has is in vexel.yaml. Budgets are in US
dollars, their days and months in UTC. --parameters says what becomes of options that
an image model does not have. Keys named in vexel.yaml are managed there and not
listed here.
A running gateway takes notice within a second.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      name: { type: "string" },
      models: { type: "string" },
      ...settingArguments,
      json: { type: "boolean" },
    });
    const [action, target, ...more] = positionals;
    if (more.length > 0 || (action !== "revoke" && target !== undefined)) {
      throw new UsageError(`it does not know what to do with "${more[0] ?? target}".`);
    }
    const ask = readAction(action, target, values, readKeySettings(values, Date.now()));
    const { VEXEL_DATA: folder } = settingsOrUsage();
    // Only who makes something makes the folder: a slip in its name must not leave one behind.
    const store =
      action === "create" ? openKeyStore(folder, Date.now) : existingKeyStore(folder, Date.now);
    try {
      return ask(store);
    } finally {
      store.close();
    }
  },
};

interface Values {
  readonly name?: string | undefined;
  readonly models?: string | undefined;
  readonly json?: boolean | undefined;
}

/** What to do with the store. Whoever is called wrongly does not even open it. */
function readAction(
  action: string | undefined,
  target: string | undefined,
  { name = "default", models = "*", json = false }: Values,
  settings: KeySettings,
): (store: KeyStore) => number {
  const [given] = Object.keys(settings);
  if (action !== "create" && given !== undefined) {
    throw new UsageError("a project, limits, a budget and the like are given when a key is made.");
  }
  switch (action) {
    case "create": {
      const globs = readGrant(name, models);
      return (store) => create(store, name, globs, settings);
    }
    case "list":
      return (store) => list(store, json);
    case "revoke":
      if (target === undefined) throw new UsageError("say which key: its id or its name.");
      return (store) => revoke(store, target);
    default:
      throw new UsageError('say "create", "list" or "revoke".');
  }
}

function readGrant(name: string, models: string): string[] {
  const globs = models.split(",").map((glob) => glob.trim());
  if (globs.some((glob) => glob === "")) throw new UsageError("--models has an empty entry.");
  // The same as vexel.yaml asks for: they are shown in logs, lists and error messages.
  if (!/^[^\p{C}]{1,200}$/u.test(name)) {
    throw new UsageError("--name must have 1 to 200 characters, all of them visible.");
  }
  if (globs.some((glob) => !/^[^\s\p{C}]{1,200}$/u.test(glob))) {
    throw new UsageError("--models must be model ids or globs, separated by commas.");
  }
  return globs;
}

function create(
  store: KeyStore,
  name: string,
  globs: readonly string[],
  settings: KeySettings,
): number {
  const { key, stored } = store.create(name, globs, settings);
  // The key alone goes to standard output, so that a script can take it.
  process.stderr.write(`Key "${stored.name}" (${stored.id}); it is shown only now:\n`);
  process.stdout.write(`${key}\n`);
  return 0;
}

const head = [
  ...["ID", "NAME", "KEY", "MODELS", "PROJECT", "LIMITS", "BUDGET", "PARAMETERS"],
  ...["CREATED", "EXPIRES", "REVOKED"],
];

function list(store: KeyStore, asJson: boolean): number {
  const shown = store.list().map(({ hash, ...rest }) => rest);
  if (asJson) {
    process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
    return 0;
  }
  const date = (at: number | null): string =>
    at === null ? "" : new Date(at).toISOString().slice(0, 16);
  const rows = shown.map(({ id, name, hint, models, createdAt, revokedAt, ...more }) => [
    id,
    name,
    `${hint}…`,
    models.join(","),
    more.project ?? "",
    limitWords(more.limits),
    budgetWords(more.budget),
    more.parameters ?? "",
    date(createdAt),
    date(more.expiresAt ?? null),
    date(revokedAt),
  ]);
  process.stdout.write(`${table([head, ...rows])}\n`);
  return 0;
}

function revoke(store: KeyStore, target: string): number {
  const { revoked, matches } = store.revoke(target);
  if (revoked) {
    process.stdout.write(`Revoked "${revoked.name}" (${revoked.id}).\n`);
    return 0;
  }
  process.stderr.write(
    matches === 0
      ? `No working key has the id or name "${target}". "vexel keys list" shows them.\n`
      : `${matches} keys are named "${target}". Revoke one by its id.\n`,
  );
  return 1;
}
