/** A gateway with 100,000 stored API keys starts, authenticates, and applies changes within a second. */
import type { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { openGatewayFile } from "../../server/storage/sqlite/gateway-database.ts";
import { startProcess, temporaryFolder } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { until } from "../until.ts";

const count = 100_000;
const folder = temporaryFolder();
const data = join(folder.path, "data");
afterAll(() => folder[Symbol.dispose]());

const textOf = (at: number): string => `sk-vx-${String(at).padStart(43, "k")}`;

function seed(): void {
  mkdirSync(data, { recursive: true });
  const db: Database = openGatewayFile(data, Date.now);
  const insert = db.prepare(
    `INSERT INTO keys (id, name, hash, hint, models, created_at, settings, created_revision, revision)
     VALUES (?1, ?1, ?2, 'sk-vx', '["*"]', ?3, '{"limits":{"requestsPerMinute":60}}', ?3, ?3)`,
  );
  db.transaction(() => {
    for (let at = 1; at <= count; at++) insert.run(`key_${at}`, secretHash(textOf(at)), at);
    db.query("UPDATE revisions SET value = ?1 WHERE name = 'keys'").run(count);
  })();
  db.close();
}

test("one of 100,000 keys is created and revoked by another process while the gateway runs", async () => {
  seed();
  const gateway = await startProcess({ folder: folder.path, yaml: "builtInModels: true\n" });
  try {
    const statusOf = async (key: string): Promise<number> => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${gateway.url}/v1/models`, { headers });
      await response.text();
      return response.status;
    };
    expect(await statusOf(textOf(1))).toBe(200);
    expect(await statusOf(textOf(count))).toBe(200);
    expect(await statusOf(textOf(count + 1))).toBe(401);
    const keys = (...args: string[]) =>
      vexel(["keys", ...args], { cwd: folder.path, env: { VEXEL_DATA: data } });
    const key = (await keys("create", "--name", "newest")).out.trim();
    await until(() => gateway.output().includes('"keys":100001,"changed":1'));
    expect(await statusOf(key)).toBe(200);
    expect((await keys("revoke", "newest")).code).toBe(0);
    await until(() => gateway.output().includes('"keys":100000,"changed":1'));
    expect(await statusOf(key)).toBe(401);
    const { code, out } = await keys("list");
    expect({ code, lines: out.trimEnd().split("\n").length }).toEqual({
      code: 0,
      lines: count + 2,
    });
  } finally {
    await gateway.close();
  }
});
