/** Backup while gateways serve, and restoration: nothing is lost, neither of a data folder nor of a database. */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "../certificate-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import {
  command,
  commandEnvironment,
  configFor,
  type GatewayProcess,
  startProcess,
  temporaryFolder,
} from "../harness.ts";
import { bearer } from "../http/gateway-fixture.ts";
import { testWith } from "../programs.ts";
import { sharedRows, sharedSecret, startLoad } from "../replicas/replica-fixture.ts";
import { freePort, PostgresServer } from "../storage/postgres-server.ts";
import { until } from "../until.ts";

const fake = startFake();
afterAll(() => fake.close());

/** Runs the command line. Rejects if it fails. */
async function vexel(args: readonly string[], env: Record<string, string>): Promise<string> {
  const child = Bun.spawn([...command, ...args], {
    env: { PATH: process.env.PATH ?? "", ...commandEnvironment, ...env },
    stderr: "pipe",
  });
  const [output, problem] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  if ((await child.exited) !== 0) throw new Error(problem);
  return output;
}

async function stop(gateway: GatewayProcess): Promise<void> {
  gateway.kill("SIGTERM");
  await gateway.exited;
}

function start(folder: string, name: string, env: Record<string, string>): Promise<GatewayProcess> {
  const own = join(folder, name);
  mkdirSync(own, { recursive: true });
  return startProcess({ folder: own, yaml: configFor(fake.url), env });
}

const ledgerIds = (folder: string): string[] => {
  using db = new Database(join(folder, "ledger.db"), { readonly: true });
  const rows = db.query<{ id: string }, []>("SELECT request_id AS id FROM ledger").all();
  return rows.map(({ id }) => id);
};

test("a backup of a serving gateway restores its ledger, keys and image links", async () => {
  using folder = temporaryFolder();
  const data = { VEXEL_DATA: join(folder.path, "first", "data") };
  const gateway = await start(folder.path, "first", {});
  const created = await vexel(["keys", "create", "--name", "made"], data);
  const key = /sk-\S+/.exec(created)?.[0] ?? "";
  const image = { model: "gpt-image-2", prompt: "an otter", response_format: "url" };
  const response = await gateway.post("/v1/images/generations", image, bearer);
  const { data: images } = (await response.json()) as { data: { url: string }[] };
  const load = startLoad([gateway.url], 4);
  await until(() => load.completed.length > 50);
  const before = [...load.completed];
  const backup = join(folder.path, "backup");
  await vexel(["db", "backup", backup, "--with-secrets"], data);
  await load.stop();
  await stop(gateway);
  expect(load.failed).toEqual([]);
  const restored = { VEXEL_DATA: join(folder.path, "second", "data") };
  await vexel(["db", "restore", backup], restored);
  await expect(vexel(["db", "restore", backup], restored)).rejects.toThrow("is not empty");
  const second = await start(folder.path, "second", {});
  const link = new URL(images[0]?.url ?? "");
  expect((await fetch(second.url + link.pathname + link.search)).status).toBe(200);
  const models = await fetch(`${second.url}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(models.status).toBe(200);
  expect(await vexel(["keys", "list"], restored)).toBe(await vexel(["keys", "list"], data));
  await stop(second);
  const ids = ledgerIds(restored.VEXEL_DATA);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(expect.arrayContaining(before));
  expect(ledgerIds(data.VEXEL_DATA)).toEqual(expect.arrayContaining(ids));
  writeFileSync(join(backup, "ledger.db"), "damaged");
  const empty = { VEXEL_DATA: join(folder.path, "third") };
  await expect(vexel(["db", "restore", backup], empty)).rejects.toThrow("is damaged: ledger.db");
});

testWith("postgresql", "openssl")(
  "a database behind TLS is used only with the right authority, and its backup restores ledger and keys",
  async () => {
    using folder = temporaryFolder();
    const server = new PostgresServer(await freePort());
    server.requireTls(selfSigned(folder.path, "IP:127.0.0.1"));
    await server.start();
    const verified = async (): Promise<string> =>
      (await server.createDatabase()).replace("sslmode=require", "sslmode=verify-full");
    const authority = { NODE_EXTRA_CA_CERTS: join(folder.path, "cert.pem") };
    const urlFile = join(folder.path, "database-url");
    const common = { VEXEL_SECRET: sharedSecret, DATABASE_URL_FILE: urlFile };
    const [url, emptyUrl] = [await verified(), await verified()];
    writeFileSync(urlFile, url);
    await expect(start(folder.path, "stranger", common)).rejects.toThrow("self signed");
    const gateway = await start(folder.path, "first", { ...common, ...authority });
    await vexel(["keys", "create", "--name", "made"], { ...common, ...authority });
    const load = startLoad([gateway.url], 2);
    await until(() => load.completed.length > 20);
    await load.stop();
    await until(async () => (await sharedRows(server, url)).length === load.completed.length);
    const backup = join(folder.path, "backup");
    await vexel(["db", "backup", backup], { ...common, ...authority });
    await stop(gateway);
    const target = { VEXEL_SECRET: sharedSecret, DATABASE_URL: emptyUrl, ...authority };
    await vexel(["db", "restore", backup], target);
    await expect(vexel(["db", "restore", backup], target)).rejects.toThrow("must have no schema");
    expect((await sharedRows(server, emptyUrl)).sort()).toEqual([...load.completed].sort());
    const source = { ...common, ...authority };
    expect(await vexel(["keys", "list"], target)).toBe(await vexel(["keys", "list"], source));
    await expect(
      vexel(["db", "backup", join(folder.path, "b2")], { ...source, PATH: "/none" }),
    ).rejects.toThrow("pg_dump was not found");
    expect(readFileSync(join(backup, "backup.json"), "utf8")).not.toContain(sharedSecret);
    await server.stop();
  },
);
