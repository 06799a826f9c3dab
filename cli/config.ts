/**
 * vexel config: lists and changes the stored configuration entities, in the database (`DATABASE_URL`) or in the data
 * folder. A running gateway applies changes within a second.
 */
import { existsSync } from "node:fs";
import { readSources } from "../server/config/build/load-snapshot.ts";
import { type ConfigEntities, EntityRefused } from "../server/config/entities/config-entities.ts";
import { openConfigEntities } from "../server/config/entities/open-config-entities.ts";
import { describeOrigin } from "../server/config/snapshot.ts";
import { describeProblems } from "../server/config/yaml/problem.ts";
import { reencryptEndpoints } from "../server/events/reencrypt-endpoints.ts";
import { ownCommand } from "../server/process/own-command.ts";
import type { Settings } from "../server/settings.ts";
import {
  type ConfigEntityStore,
  type JsonObject,
  VersionConflict,
} from "../server/storage/sql/config-entity-store.ts";
import { StoreError } from "../server/storage/sqlite/open-database.ts";
import { secretBoxFor } from "../server/wiring/storage.ts";
import { inspectModelDirectory } from "../server/workers/embedding/model-directory.ts";
import {
  type Command,
  readArguments,
  settingsOrUsage,
  table,
  UsageError,
  unknownAction,
} from "./command.ts";
import { openEntities, withWebhookEndpoints } from "./open-stores.ts";
import { writeError, writeOutput } from "./write.ts";

export const config: Command = {
  name: "config",
  summary: "List and change stored upstreams, models, projects and webhooks.",
  help: `Usage: vexel config list [--json]
       vexel config get KIND ID
       vexel config put KIND ID [--file FILE] [--version N]
       vexel config delete KIND ID [--version N]
       vexel config reencrypt

KIND is upstream, model, project or webhook. The value is JSON, with the keys of
vexel.yaml, from FILE or from standard input. Entities of vexel.yaml and of the
environment are listed with their origin; they are changed there. A change is validated
together with the whole configuration, in the environment of this command, and refused
with the name of the field. With --version N the change is refused unless the entity has
version N. With --version 0 the change is refused if the entity exists already. Secrets
are encrypted; "get" shows {"$secret":true} instead, and "put" with it keeps the stored
secret. "reencrypt" encrypts all secrets with the current VEXEL_SECRET. A running gateway
applies changes within a second.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      json: { type: "boolean" },
      file: { type: "string" },
      version: { type: "string" },
    });
    const [action = "", ...rest] = positionals;
    const runAction = readAction(action, rest, values);
    const settings = settingsOrUsage();
    if (settings.DATABASE_URL === "" && !existsSync(settings.VEXEL_DATA)) {
      throw new StoreError(
        `The data folder ${settings.VEXEL_DATA} does not exist. Set VEXEL_DATA to the data folder of the gateway.`,
      );
    }
    const store = await openEntities(settings);
    try {
      return await runAction(entitiesOf(store, settings), settings);
    } catch (error) {
      if (!(error instanceof EntityRefused || error instanceof VersionConflict)) throw error;
      writeError(`vexel config: ${error.message}\n`);
      return 1;
    } finally {
      await store.close();
    }
  },
};

export function entitiesOf(store: ConfigEntityStore, settings: Settings): ConfigEntities {
  const env = process.env;
  const inspectFolder = inspectModelDirectory;
  return openConfigEntities({
    store,
    secrets: secretBoxFor(settings),
    inspectFolder,
    now: Date.now,
    sources: () => {
      const path = settings.VEXEL_CONFIG;
      const namedBy = env.VEXEL_CONFIG ? "VEXEL_CONFIG" : undefined;
      const read = readSources({ path, namedBy, env, now: Date.now(), inspectFolder });
      if (read.ok) return read;
      throw new EntityRefused(
        `the change cannot be validated, because ${describeProblems(read.problems)}`,
      );
    },
  });
}

interface Values {
  readonly json?: boolean | undefined;
  readonly file?: string | undefined;
  readonly version?: string | undefined;
}

/** Validates the arguments before the store is opened. */
function readAction(
  action: string,
  [kind, id, ...more]: readonly string[],
  values: Values,
): (entities: ConfigEntities, settings: Settings) => Promise<number> {
  const concernsAllEntities = action === "list" || action === "reencrypt";
  const [unexpected] = concernsAllEntities && kind !== undefined ? [kind] : more;
  if (unexpected !== undefined) throw new UsageError(`unexpected argument "${unexpected}".`);
  if (action === "list") return (entities) => list(entities, values.json ?? false);
  if (action === "reencrypt") return reencrypt;
  if (action !== "get" && action !== "put" && action !== "delete") {
    throw unknownAction(action, ["list", "get", "put", "delete", "reencrypt"]);
  }
  if (kind === undefined || id === undefined)
    throw new UsageError("missing arguments: KIND and ID.");
  const expected = readVersion(values.version);
  if (action === "get") return (entities) => get(entities, kind, id);
  if (action === "delete") return (entities) => remove(entities, kind, id, expected);
  return async (entities) => put(entities, kind, id, await readValue(values.file), expected);
}

function readVersion(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`--version must be a whole number, not "${text}".`);
}

async function readValue(file: string | undefined): Promise<JsonObject> {
  const name = file ?? "standard input";
  let text: string;
  try {
    text = await (file === undefined ? Bun.stdin : Bun.file(file)).text();
  } catch (error) {
    throw new UsageError(
      `${name} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
  const value = parseJson(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw new UsageError(`${name} must contain a JSON object.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Reported like any other value that is no object. The text may contain a secret, so it is not quoted.
    return undefined;
  }
}

async function list(entities: ConfigEntities, asJson: boolean): Promise<number> {
  const listed = (await entities.list()).map(({ origin, value: _, ...entity }) => ({
    ...entity,
    origin: describeOrigin(origin),
  }));
  const text = asJson
    ? JSON.stringify(listed, null, 2)
    : table([
        ["KIND", "ID", "ORIGIN", "VERSION", "PROBLEM"],
        ...listed.map(({ kind, id, origin, version, problem }) => [
          kind,
          id,
          origin,
          version === undefined ? "" : String(version),
          problem ?? "",
        ]),
      ]);
  writeOutput(`${text}\n`);
  return 0;
}

async function get(entities: ConfigEntities, kind: string, id: string): Promise<number> {
  const found = await entities.get(kind, id);
  if (!found) return notFound(kind, id);
  const { value, version, problem } = found;
  const warning = problem === undefined ? "" : ` The gateway does not use it: ${problem}.`;
  writeError(`Version ${version}.${warning}\n`);
  writeOutput(`${JSON.stringify(value, null, 2)}\n`);
  return 0;
}

async function put(
  entities: ConfigEntities,
  kind: string,
  id: string,
  value: JsonObject,
  expected: number | undefined,
): Promise<number> {
  const { version } = await entities.put(kind, id, value, expected);
  writeOutput(`Stored the ${kind} "${id}" as version ${version}.\n`);
  return 0;
}

async function remove(
  entities: ConfigEntities,
  kind: string,
  id: string,
  expected: number | undefined,
): Promise<number> {
  if (!(await entities.delete(kind, id, expected))) return notFound(kind, id);
  writeOutput(`Deleted the ${kind} "${id}".\n`);
  return 0;
}

async function reencrypt(entities: ConfigEntities, settings: Settings): Promise<number> {
  const written = await entities.reencrypt();
  const endpoints = await withWebhookEndpoints(settings, (store) =>
    reencryptEndpoints(store, secretBoxFor(settings)),
  );
  writeOutput(
    `Encrypted the secrets of ${written} entities and ${endpoints} webhook endpoints with the current key.\n`,
  );
  return 0;
}

function notFound(kind: string, id: string): number {
  writeError(
    `There is no stored ${kind} "${id}". "${ownCommand("config list")}" lists all entities.\n`,
  );
  return 1;
}
