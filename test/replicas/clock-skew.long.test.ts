/** Replicas whose clocks differ: what is stored has the times of the database. */
import { afterAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { embeddingLine, endOfBatch, line, resultLines, uploadLines } from "../batches/lines.ts";
import { startFakeS3 } from "../fake-s3.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, temporaryFolder, testKey } from "../harness.ts";
import { databaseName, sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { cookieOf, replicaStarter } from "./replica-fixture.ts";

const fake = startFake();
const s3 = startFakeS3({});
afterAll(() => {
  s3.stop();
  fake.close();
});
const start = replicaStarter(fake.url);

/** A script that sets the clock of a replica. */
function skewedBy(folder: string, ms: number): string {
  const path = join(folder, `skew-${ms}.ts`);
  writeFileSync(path, `const now = Date.now; Date.now = () => now() + ${ms};`);
  return path;
}

const [hourMs, dayMs] = [3_600_000, 86_400_000];

testWithPostgres("a replica with a wrong clock ends no session of other replicas", async () => {
  using folder = temporaryFolder();
  const databaseUrl = await (await sharedPostgres()).createDatabase();
  const options = { folder: folder.path, databaseUrl, env: { VEXEL_CONSOLE: "on" } };
  const right = await start({ ...options, name: "right" });
  const wrong = await start({
    ...options,
    name: "wrong",
    preload: skewedBy(folder.path, 30 * dayMs),
  });
  const token = /\/console\/setup#(\S+)/.exec(right.output())?.[1];
  const user = { name: "ada", password: "correct horse battery staple" };
  const first = cookieOf(await right.post("/admin/api/session/setup", { token, ...user }));
  // A sign-in deletes expired sessions.
  const signedIn = await wrong.post("/admin/api/session", user);
  expect(signedIn.status).toBe(200);
  for (const cookie of [first, cookieOf(signedIn)]) {
    for (const { url } of [right, wrong]) {
      const session = await fetch(`${url}/admin/api/session`, { headers: { cookie } });
      expect(session.status).toBe(200);
    }
  }
});

const sdk = ({ url }: GatewayProcess): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: testKey, maxRetries: 0 });

/** Unix seconds of the database, which is on this machine. */
const expectNow = (seconds: number | null | undefined): void =>
  expect(Math.abs((seconds ?? 0) - Date.now() / 1000)).toBeLessThan(300);

testWithPostgres(
  "replicas an hour ahead and a day behind store the times of the database, and end nothing early",
  async () => {
    using folder = temporaryFolder();
    const server = await sharedPostgres();
    const databaseUrl = await server.createDatabase();
    const token = "an-admin-token-of-all-replicas";
    const sent: number[] = [];
    using receiver = Bun.serve({
      port: 0,
      fetch: ({ headers }) => {
        sent.push(Number(headers.get("webhook-timestamp")));
        return new Response("");
      },
    });
    const env = {
      BLOB_URL: s3.url("shared"),
      VEXEL_ADMIN_TOKEN: token,
      VEXEL_WEBHOOK_PRIVATE: "127.0.0.1",
    };
    const options = { folder: folder.path, databaseUrl, env };
    const replicas = [
      await start({ ...options, name: "right" }),
      await start({ ...options, name: "ahead", preload: skewedBy(folder.path, hourMs) }),
      await start({ ...options, name: "behind", preload: skewedBy(folder.path, -dayMs) }),
    ];
    const others = (writer: GatewayProcess) => replicas.filter((each) => each !== writer);
    const adminOf = async (replica: GatewayProcess, path: string) => {
      const headers = { authorization: `Bearer ${token}` };
      return (await (await fetch(`${replica.url}/admin/api${path}`, { headers })).json()) as {
        data: { resets_at: string; spent: number }[];
      };
    };
    const asAdmin = async (replica: GatewayProcess, path: string, body: object) => {
      const response = await fetch(`${replica.url}/admin/api${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(201);
      return (await response.json()) as { key: string };
    };

    for (const writer of replicas) {
      const client = sdk(writer);
      // A file that expires in an hour is there on every replica.
      const file = await client.files.create({
        file: await toFile(Buffer.from("{}"), "lines.jsonl"),
        purpose: "batch",
        expires_after: { anchor: "created_at", seconds: 3600 },
      });
      expectNow(file.created_at);
      expectNow((file.expires_at ?? 0) - 3600);
      for (const reader of others(writer)) {
        expect((await sdk(reader).files.retrieve(file.id)).id).toBe(file.id);
        expect(await (await sdk(reader).files.content(file.id)).text()).toBe("{}");
      }
      // So is an upload, whose parts come through the others.
      const bytes = 2;
      const upload = await client.uploads.create({
        bytes,
        filename: "lines.jsonl",
        mime_type: "application/jsonl",
        purpose: "batch",
      });
      expectNow(upload.created_at);
      const parts: string[] = [];
      for (const reader of others(writer)) {
        const data = await toFile(Buffer.from("x"), "part");
        parts.push((await sdk(reader).uploads.parts.create(upload.id, { data })).id);
      }
      expect((await client.uploads.complete(upload.id, { part_ids: parts })).status).toBe(
        "completed",
      );
      const endpoint = await fetch(`${writer.url}/v1/webhook_endpoints`, {
        method: "POST",
        headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json" },
        body: JSON.stringify({
          name: `hook ${writer.pid}`,
          url: `http://127.0.0.1:${receiver.port}/${writer.pid}`,
          event_types: ["batch.completed"],
        }),
      });
      const made = (await endpoint.json()) as { created_at?: number };
      expect(made).toMatchObject({ object: "webhook_endpoint" });
      expectNow(made.created_at);
      // A job that any replica runs: nobody takes its ranges over while they run, and it does not expire.
      const images = [0, 1].map((at) =>
        line(`image-${at}`, "/v1/images/generations", { model: "gpt-image-2", prompt: "a boat" }),
      );
      const texts = Array.from({ length: 300 }, (_, at) => embeddingLine(`text-${at}`));
      for (const [url, lines] of [
        ["/v1/embeddings", texts],
        ["/v1/images/generations", images],
      ] as const) {
        const batch = await client.batches.create({
          input_file_id: await uploadLines(client, lines.join("")),
          endpoint: url as "/v1/embeddings",
          completion_window: "24h",
        });
        expectNow(batch.created_at);
        const reader = sdk(others(writer)[0] ?? writer);
        const ended = await endOfBatch(reader, batch.id);
        expect(ended.status).toBe("completed");
        expectNow(ended.completed_at);
        expect(ended.request_counts).toEqual({
          total: lines.length,
          completed: lines.length,
          failed: 0,
        });
        const results = await resultLines(reader, ended.output_file_id as string);
        expect(results).toHaveLength(lines.length);
      }
    }

    // Two batches of each replica, and an endpoint more after each.
    await until(() => sent.length === 2 * (1 + 2 + 3));
    for (const at of sent) expectNow(at);

    // The day of a budget, and the times of the ledger.
    const [right] = replicas as [GatewayProcess];
    const { key } = await asAdmin(right, "/keys", {
      name: "budgeted",
      models: ["*"],
      budget: { day: 5 },
    });
    for (const replica of replicas) {
      await until(async () => {
        const response = await fetch(`${replica.url}/v1/embeddings`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ model: "text-embedding-3-small", input: `of ${replica.pid}` }),
        });
        await response.text();
        return response.status === 200;
      });
    }
    const midnight = `${new Date(Math.ceil(Date.now() / dayMs) * dayMs).toISOString()}`;
    for (const replica of replicas) {
      const { data } = await adminOf(replica, "/budgets");
      expect(data.map(({ resets_at }) => resets_at)).toEqual([midnight]);
    }
    await until(async () => {
      const [rows] = await server.execute<{ count: string; first: string; last: string }>(
        databaseName(databaseUrl),
        "SELECT count(*) AS count, min(at) AS first, max(at) AS last FROM vexel.ledger",
      );
      if (Number(rows?.count) < 9) return false;
      expectNow(Number(rows?.first) / 1000);
      expectNow(Number(rows?.last) / 1000);
      return true;
    });
  },
);
