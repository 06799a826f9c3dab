/** Replicas share files and batches through PostgreSQL and an object store: one goes on where another was killed. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import OpenAI from "openai";
import { embeddingLine, resultLines, uploadLines } from "../batches/lines.ts";
import { startFakeS3 } from "../fake-s3.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, temporaryFolder, testKey } from "../harness.ts";
import { testsWith } from "../programs.ts";
import { type PostgresServer, sharedPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { replicaStarter } from "./replica-fixture.ts";

testsWith(["postgresql"], import.meta.file, () => {
  const folder = temporaryFolder();
  const fake = startFake();
  const s3 = startFakeS3({});
  const startReplica = replicaStarter(fake.url);
  let server: PostgresServer;
  beforeAll(async () => {
    server = await sharedPostgres();
  });
  afterAll(() => {
    s3.stop();
    fake.close();
    folder[Symbol.dispose]();
  });
  const clientOf = ({ url }: GatewayProcess): OpenAI =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey: testKey, maxRetries: 0 });

  test("every line has one result, although the replica that ran the batch was killed", async () => {
    const databaseUrl = await server.createDatabase();
    const env = { BLOB_URL: s3.url("shared") };
    const start = (name: string) => startReplica({ folder: folder.path, name, databaseUrl, env });
    const first = await start("first");
    const client = clientOf(first);
    const ids = Array.from({ length: 2500 }, (_, at) => `line-${at}`);
    const file = await uploadLines(client, ids.map((id) => embeddingLine(id)).join(""));
    const { id } = await client.batches.create({
      input_file_id: file,
      endpoint: "/v1/embeddings",
      completion_window: "24h",
    });
    await until(async () => {
      const { request_counts } = await client.batches.retrieve(id);
      return (request_counts?.completed ?? 0) > 0;
    });
    first.kill("SIGKILL");
    await first.exited;
    const other = clientOf(await start("second"));
    // The lease of the killed replica ends after half a minute.
    while ((await other.batches.retrieve(id)).status !== "completed") await Bun.sleep(200);
    const batch = await other.batches.retrieve(id);
    expect(batch.request_counts).toEqual({ total: 2500, completed: 2500, failed: 0 });
    const results = await resultLines(other, batch.output_file_id as string);
    expect(results.map(({ custom_id }) => custom_id).sort()).toEqual(ids.toSorted());
    // The segments are joined, and deleted.
    await until(() => ![...s3.objects.keys()].some((key) => key.includes("/jobs/")));
  });
});
