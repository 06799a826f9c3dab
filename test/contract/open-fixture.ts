/**
 * Opens a fixture: the data of a gateway of an earlier version (make-fixtures.ts). Every stored time is moved forward by
 * the age of the fixture, with the SQL that is kept beside it, so that nothing has expired.
 */
import { Database } from "bun:sqlite";
import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type FakeS3, startFakeS3 } from "../fake-s3.ts";
import { temporaryFolder } from "../harness.ts";
import { pathOf } from "../programs.ts";
import { databaseName, sharedPostgres } from "../storage/postgres-server.ts";
import type { Known } from "./store-everything.ts";

export const adminToken = "the-admin-token-of-the-fixtures";
export const fixtureSecret = "the-secret-of-the-fixtures";

/** The environment of the gateway that made the fixture, and of those that open it. */
export const fixtureEnvironment: Readonly<Record<string, string>> = {
  VEXEL_SECRET: fixtureSecret,
  VEXEL_ADMIN_TOKEN: adminToken,
  VEXEL_CACHE_BYTES: "1000000",
  VEXEL_WEBHOOK_PRIVATE: "127.0.0.1",
};

const fixtures = join(import.meta.dir, "fixtures");
/** The versions that have fixtures. */
export const fixtureVersions: readonly string[] = readdirSync(fixtures).sort();

export type FixtureDatabase = "sqlite" | "postgres";

export interface Fixture extends AsyncDisposable {
  /** Has the data folder and vexel.yaml. */
  readonly folder: string;
  readonly known: Known;
  readonly environment: Readonly<Record<string, string>>;
  /** Reads the database that has the tables of `file`, such as `ledger.db`. */
  read<Row>(file: string, statement: string): Promise<readonly Row[]>;
}

/**
 * The archive in a new folder, and its database on the shared server.
 *
 * @param upstream The address that takes the place of the upstream's.
 * @param webhooks The address of a receiver that takes the place of that of the client's webhook endpoint.
 */
export async function openFixture(
  version: string,
  database: FixtureDatabase,
  { upstream, webhooks }: { readonly upstream: string; readonly webhooks: string },
): Promise<Fixture> {
  const source = join(fixtures, version);
  const folder = temporaryFolder();
  run(["tar", "-C", folder.path, "-xzf", join(source, `${database}.tar.gz`)]);
  const inFolder = (name: string): string => join(folder.path, name);
  const known = JSON.parse(readFileSync(inFolder("known.json"), "utf8")) as Known & {
    readonly madeAt: number;
    readonly upstream: string;
  };
  const now = Date.now();
  const age = now - known.madeAt;
  const time = new Date(now).toISOString();
  const values: Readonly<Record<string, string>> = {
    age: String(age),
    now: String(now),
    hour: String(now - (now % 3_600_000)),
    date: time.slice(0, "2026-11-19".length),
    month: time.slice(0, "2026-11".length),
  };
  const sql = (name: string): string =>
    readFileSync(join(source, `${name}.sql`), "utf8").replaceAll(
      /:(age|now|hour|date|month)\b/g,
      (_, value: string) => values[value] ?? "",
    );
  const addresses = `
    UPDATE config_entities SET value = replace(value, '${known.upstream}', '${upstream}');`;
  const endpoints = `UPDATE webhook_endpoints SET url = '${webhooks}';`;
  const yaml = readFileSync(inFolder("vexel.yaml"), "utf8");
  writeFileSync(inFolder("vexel.yaml"), yaml.replaceAll(known.upstream, upstream));
  moveFiles(inFolder("data"), age);

  if (database === "sqlite") {
    const open = (file: string) => new Database(inFolder(`data/${file}`), { readwrite: true });
    const execute = (file: string, statements: string): void => {
      using db = open(file);
      db.exec(statements);
    };
    execute("vexel.db", sql("gateway") + addresses);
    execute("jobs.db", sql("jobs"));
    execute("events.db", sql("events") + endpoints);
    execute("ledger.db", sql("ledger"));
    return {
      folder: folder.path,
      known,
      environment: fixtureEnvironment,
      read: async <Row>(file: string, statement: string) => {
        using db = open(file);
        return db.query<Row, []>(statement).all();
      },
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    };
  }
  const server = await sharedPostgres();
  const url = await server.createDatabase();
  const program = join(pathOf("postgresql"), "psql");
  const psql = (...args: readonly string[]) =>
    run([program, "--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction", ...args, url]);
  psql(`--file=${inFolder("database.sql")}`);
  const files = ["postgres", "gateway", "jobs", "events", "ledger"].map(sql);
  writeFileSync(inFolder("later.sql"), [...files, addresses, endpoints].join("\n"));
  psql(`--file=${inFolder("later.sql")}`);
  const s3 = startFakeS3();
  loadObjects(s3, inFolder("objects"));
  return {
    folder: folder.path,
    known,
    environment: { ...fixtureEnvironment, DATABASE_URL: url, BLOB_URL: s3.url("vexel") },
    read: async <Row>(_file: string, statement: string) => {
      const both = `SET search_path TO vexel; ${statement}`;
      const [, rows = []] = await server.execute<readonly Row[]>(databaseName(url), both);
      return rows;
    },
    [Symbol.asyncDispose]: async () => {
      await s3.stop();
      folder[Symbol.dispose]();
    },
  };
}

/** The time of an image is when its link expires. Stored responses have the time of their request. */
function moveFiles(data: string, ageMs: number): void {
  for (const name of ["images", "responses"]) {
    const folder = join(data, name);
    for (const file of existsSync(folder) ? readdirSync(folder) : []) {
      const path = join(folder, file);
      const seconds = (statSync(path).mtimeMs + ageMs) / 1000;
      if (file.endsWith(".json")) {
        const text = readFileSync(path, "utf8");
        writeFileSync(
          path,
          text.replace(/"at":(\d+)/, (_, at: string) => `"at":${Number(at) + ageMs}`),
        );
      }
      utimesSync(path, seconds, seconds);
    }
  }
}

function loadObjects(s3: FakeS3, folder: string): void {
  const modified = new Date().toISOString();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const type = entry.name.endsWith(".png") ? "image/png" : "application/octet-stream";
    s3.objects.set(path.slice(folder.length + 1), { bytes: readFileSync(path), type, modified });
  }
}

function run(args: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync([...args]);
  if (exitCode !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
}
