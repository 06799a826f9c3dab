/** One gateway on SQLite is upgraded to a version with another migration, and rolled back to a backup. */
import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { closeAfterEach } from "../clean-up.ts";
import { startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  sourceCommand,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import {
  addedMigration,
  buildNewerVersion,
  firstRelease,
  type GatewayVersion,
} from "../topology/newer-version.ts";
import { until } from "../until.ts";

const closing = closeAfterEach();

interface Ended {
  readonly code: number;
  readonly output: string;
}

async function runVersion(
  { folder }: GatewayVersion,
  args: readonly string[],
  cwd: string,
): Promise<Ended> {
  const child = Bun.spawn([...sourceCommand(folder), ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? "", VEXEL_DATA: join(cwd, "data") },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, output: out + err };
}

test("an upgrade carries every row, and a rollback says which rows the backup lacks", async () => {
  const folder = temporaryFolder();
  closing(folder);
  const fake = startFake();
  closing(fake);
  const newer = buildNewerVersion(join(folder.path, "newer"));
  const earlier = firstRelease(join(folder.path, "earlier"));
  const own = join(folder.path, "gateway");
  mkdirSync(own);
  const start = async ({ folder: program }: GatewayVersion): Promise<GatewayProcess> => {
    const gateway = await startProcess({ folder: own, yaml: configFor(fake.url), program });
    closing(gateway);
    return gateway;
  };
  const stop = async (gateway: GatewayProcess): Promise<void> => {
    gateway.kill("SIGTERM");
    expect(await gateway.exited).toBe(0);
  };
  const send = async (gateway: GatewayProcess, count: number): Promise<string[]> => {
    const ids: string[] = [];
    for (let at = 0; at < count; at++) {
      const body = { model: "text-embedding-3-small", input: `text ${at}` };
      const response = await gateway.post("/v1/embeddings", body);
      expect(response.status).toBe(200);
      await response.bytes();
      ids.push(response.headers.get("x-request-id") ?? "");
    }
    return ids;
  };
  const rowsIn = (path: string, columns: string, table = "ledger") => {
    using db = new Database(join(own, path), { readonly: true });
    return db
      .query<Record<string, string>, []>(`SELECT ${columns} FROM ${table} ORDER BY at`)
      .all();
  };
  const run = (version: GatewayVersion, ...args: readonly string[]) =>
    runVersion(version, args, own);

  const before = await start(earlier);
  expect(await run(earlier, "keys", "create", "--name", "kept")).toMatchObject({ code: 0 });
  const kept = await send(before, 5);
  // The gateway records the event of the new key after the command has ended.
  await until(() => rowsIn("data/events.db", "id", "events").length > 0);
  expect(await run(earlier, "db", "backup", "backup")).toMatchObject({ code: 0 });
  await stop(before);
  const complete = await run(earlier, "db", "compare", "backup");
  expect(complete.output).toMatch(/^The backup of .* has every row of .*data\.\n$/);

  const upgraded = await start(newer);
  expect(rowsIn("data/ledger.db", "request_id, added")).toEqual(
    kept.map((id) => ({ request_id: id, added: "by the migration" })),
  );
  const lost = await send(upgraded, 3);
  expect(await run(newer, "keys", "create", "--name", "lost")).toMatchObject({ code: 0 });
  const running = await run(newer, "db", "compare", "backup");
  expect(running.output).toContain("Another gateway is running");
  await stop(upgraded);

  for (const args of [["serve"], ["check"], ["keys", "list"], ["db", "compare", "backup"]]) {
    const refused = await run(earlier, ...args);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.output).toContain(
      `Vexel ${newer.version} migrated it last, and this version (${earlier.version}) does not have its migration "${addedMigration}"`,
    );
  }
  const offered = await run(newer, "db", "compare", "backup");
  expect(offered.output).toMatch(/^The backup of .* lacks \d+ rows of .*data:/);
  expect(offered.output).toMatch(/\nledger +3\nkeys +1\n/);
  expect(offered.output).toEndWith("--export FILE writes them as JSON lines.\n");
  const exported = await run(newer, "db", "compare", "backup", "--export", "lost.jsonl");
  expect(exported.output).toEndWith("Wrote them to lost.jsonl.\n");
  const lines = readFileSync(join(own, "lost.jsonl"), "utf8").trim().split("\n");
  const rows = lines.map((line) => JSON.parse(line) as { table: string; row: Json });
  const of = (table: string) => rows.filter((each) => each.table === table);
  expect(of("ledger").map(({ row }) => row.request_id)).toEqual(lost);
  expect(of("keys").map(({ row }) => row.name)).toEqual(["lost"]);

  renameSync(join(own, "data"), join(own, "data-newer"));
  expect(await run(earlier, "db", "restore", "backup")).toMatchObject({ code: 0 });
  const back = await start(earlier);
  const more = await send(back, 1);
  await stop(back);
  expect(rowsIn("data/ledger.db", "request_id").map((row) => row.request_id)).toEqual([
    ...kept,
    ...more,
  ]);
  expect((await run(earlier, "keys", "list")).output).toContain("kept");
});

type Json = Readonly<Record<string, unknown>>;

test("the example of vexel.yaml of the first release is valid for a newer version", async () => {
  const folder = temporaryFolder();
  closing(folder);
  const { folder: program } = buildNewerVersion(join(folder.path, "newer"));
  const example = join(import.meta.dir, "fixtures/1.0.0/vexel.example.yaml");
  copyFileSync(example, join(folder.path, "vexel.yaml"));
  const names = readFileSync(example, "utf8").matchAll(/\$\{([A-Z_]+)\}/g);
  const values = [...names].map(([, name = ""]) => [name, `${name}-of-the-test-0123456789`]);
  const child = Bun.spawn([...sourceCommand(program), "check"], {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? "", ...Object.fromEntries(values) },
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = (await child.stdout.text()) + (await child.stderr.text());
  expect({ code: await child.exited, output }).toMatchObject({ code: 0 });
});
