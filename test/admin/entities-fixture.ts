/** A gateway in this process whose configuration comes from file, environment and store, with its admin API. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "../../server/app.ts";
import { openConfiguration } from "../../server/config/reload/open-configuration.ts";
import { createLog } from "../../server/lib/log.ts";
import { readSettings } from "../../server/settings.ts";
import {
  openConfigEntityStore,
  openKeyStore,
} from "../../server/storage/sqlite/gateway-database.ts";
import { secretBoxFor } from "../../server/wiring/storage.ts";
import { buildBuiltInModels } from "../../server/workers/built-in-models.ts";
import { inspectModelDirectory } from "../../server/workers/embedding/model-directory.ts";
import { copyNewDatabases, keepNewDatabases, temporaryFolder } from "../harness.ts";
import { asDocumented } from "./documented-responses.ts";

export const adminToken = "admin-token-0123456789";

/** The members of responses that tests read. */
interface AdminJson {
  readonly id: string;
  readonly version: number;
  readonly data: readonly AdminJson[];
  readonly value: Readonly<Record<string, unknown>>;
  readonly error: {
    readonly message: string;
    readonly code: string;
    readonly param: string | null;
  };
  readonly [member: string]: unknown;
}

export interface EntityGatewayOptions {
  readonly yaml?: string;
  readonly env?: Record<string, string>;
  readonly settings?: Record<string, string>;
}

export async function startEntityGateway({
  yaml = "",
  env = {},
  settings: more = {},
}: EntityGatewayOptions = {}) {
  const folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  writeFileSync(path, yaml);
  copyNewDatabases(folder.path);
  const settings = readSettings({
    PORT: "0",
    VEXEL_DATA: folder.path,
    VEXEL_CONFIG: path,
    VEXEL_ADMIN_TOKEN: adminToken,
    VEXEL_SECRET: "test-secret-0123456789",
    VEXEL_CONSOLE: "on",
    VEXEL_CANARY_HOURS: "0",
    ...more,
  });
  let lines = "";
  const log = createLog({
    level: "debug",
    format: "json",
    now: () => new Date(),
    write: (text) => {
      lines += text;
    },
  });
  const keys = openKeyStore(folder.path, Date.now);
  const entities = openConfigEntityStore(folder.path, Date.now);
  const configuration = await openConfiguration({
    path: settings.VEXEL_CONFIG,
    namedBy: "VEXEL_CONFIG",
    inspectFolder: inspectModelDirectory,
    env,
    keys,
    entities,
    log,
    secrets: secretBoxFor(settings),
    now: Date.now,
    events: () => undefined,
  });
  const builtInModels = buildBuiltInModels({
    onReady: () => undefined,
  });
  const { snapshot, onReload, fileProblem, applyKeyChanges, applyEntityChanges } = configuration;
  const gateway = build({
    passwordCost: { memoryCost: 8, timeCost: 1 },
    settings,
    snapshot,
    onReload,
    fileProblem,
    builtInModels,
    log,
    configChanges: { keys, applyKeyChanges, entities: configuration.entities, applyEntityChanges },
  });
  keepNewDatabases(folder.path);

  /** With the admin token, unless `headers` has another authorization. */
  const call = async (
    request: `${"GET" | "POST" | "PUT" | "DELETE"} /${string}`,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const [method = "", apiPath = ""] = request.split(" ");
    const response = await fetch(`${gateway.url}/admin/api${apiPath}`, {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    await asDocumented(response, method, settings.VEXEL_ADMIN_TOKEN);
    const text = await response.text();
    const json = (text === "" ? {} : JSON.parse(text)) as AdminJson;
    return { status: response.status, headers: response.headers, text, json };
  };

  return {
    url: gateway.url,
    baseURL: `${gateway.url}/v1`,
    folder: folder.path,
    yamlPath: path,
    snapshot,
    events: gateway.events,
    call,
    log: () => {
      log.flush();
      return lines;
    },
    close: async () => {
      configuration.close();
      await gateway.close();
      await keys.close();
      await entities.close();
      folder[Symbol.dispose]();
    },
  };
}

export type EntityGateway = Awaited<ReturnType<typeof startEntityGateway>>;
