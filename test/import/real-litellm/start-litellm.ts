/** Starts the real LiteLLM with a PostgreSQL database of its own, and calls its API. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { databaseName, freePort, type PostgresServer } from "../../storage/postgres-server.ts";
import { litellmEnvironment, litellmMigrationsFolder, litellmProgram } from "./install.ts";

export const masterKey = "sk-master-0123456789";
export const saltKey = "sk-salt-0123456789";

export interface Litellm {
  readonly url: string;
  readonly database: string;
  readonly configPath: string;
  /** Calls the API with the master key. Throws if the status is not 200. */
  call(path: string, body: unknown): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** All migrations of LiteLLM, in their order. They run in one transaction, which cannot create an index concurrently. */
async function migrations(): Promise<string> {
  const folder = await litellmMigrationsFolder();
  return readdirSync(folder)
    .toSorted()
    .map((name) => join(folder, name, "migration.sql"))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n")
    .replaceAll(" CONCURRENTLY", "");
}

const mostSeconds = 400;

export async function startLitellm(server: PostgresServer, config: string): Promise<Litellm> {
  const database = await server.createDatabase();
  await server.execute(databaseName(database), await migrations());
  const folder = mkdtempSync(join(tmpdir(), "vexel-litellm-"));
  const [configPath, logPath] = [join(folder, "config.yaml"), join(folder, "log")];
  writeFileSync(configPath, config);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = Bun.spawn(
    [litellmProgram, "--config", configPath, "--host", "127.0.0.1", "--port", String(port)],
    {
      cwd: folder,
      env: {
        ...litellmEnvironment,
        DATABASE_URL: database,
        DISABLE_SCHEMA_UPDATE: "true",
        DISABLE_ADMIN_UI: "True",
        STORE_MODEL_IN_DB: "True",
        LITELLM_MASTER_KEY: masterKey,
        LITELLM_SALT_KEY: saltKey,
      },
      stdout: Bun.file(logPath),
      stderr: Bun.file(logPath),
    },
  );
  const log = (): string => (existsSync(logPath) ? readFileSync(logPath, "utf8").slice(-4000) : "");
  for (let seconds = 0; ; seconds++) {
    const response = await fetch(`${url}/health/liveliness`).catch(() => undefined);
    if (response?.ok) break;
    if (child.exitCode !== null || seconds > mostSeconds) {
      child.kill("SIGKILL");
      throw new Error(`LiteLLM did not start:\n${log()}`);
    }
    await Bun.sleep(1000);
  }
  return {
    url,
    database,
    configPath,
    call: async (path, body) => {
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${masterKey}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (!response.ok)
        throw new Error(`${path} ${JSON.stringify(body)}: ${response.status} ${text}\n${log()}`);
      return JSON.parse(text) as Record<string, unknown>;
    },
    close: async () => {
      child.kill("SIGTERM");
      const ended = await Promise.race([child.exited, Bun.sleep(5000)]);
      if (ended === undefined) child.kill("SIGKILL");
    },
  };
}
