/**
 * Two versions beside each other: a fleet on one PostgreSQL and one Redis is upgraded one by one, and rolled back one by
 * one, under load. Each request, image job and batch is compared.
 */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { embeddingLine, type ResultLine, resultLines, uploadLines } from "../batches/lines.ts";
import { startFakeS3 } from "../fake-s3.ts";
import { fakeVector, startFake } from "../fake-upstream.ts";
import {
  configFor,
  type GatewayProcess,
  outboxRows,
  startProcess,
  temporaryFolder,
  testKey,
} from "../harness.ts";
import { testsWith } from "../programs.ts";
import {
  databaseName,
  freePort,
  type PostgresServer,
  sharedPostgres,
} from "../storage/postgres-server.ts";
import { RedisServer } from "../storage/redis-server.ts";
import {
  addedMigration,
  buildNewerVersion,
  firstRelease,
  type GatewayVersion,
} from "../topology/newer-version.ts";
import { until } from "../until.ts";

const dimensions = 8;

const isRight = (text: string, vector: readonly number[]): boolean =>
  fakeVector(text, dimensions).every((value, at) => Math.abs(value - (vector[at] ?? 9)) < 1e-6);

/** Clients that know the replicas that serve, as a load balancer does. */
class Load {
  readonly #urls: () => readonly string[];
  readonly requestIds: string[] = [];
  readonly batches = new Map<string, readonly string[]>();
  readonly jobs = new Map<string, string>();
  readonly wrong: string[] = [];
  #isStopped = false;
  #turn = 0;
  #running: Promise<unknown> = Promise.resolve();

  constructor(urls: () => readonly string[]) {
    this.#urls = urls;
  }

  /** Of the next replica. */
  client(): OpenAI {
    const urls = this.#urls();
    return new OpenAI({
      baseURL: `${urls[this.#turn++ % urls.length]}/v1`,
      apiKey: testKey,
      maxRetries: 0,
    });
  }

  /** A replica that has just begun to stop refuses the connection, or the request: another one gets it. */
  async #send<T>(request: (client: OpenAI) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await request(this.client());
      } catch (error) {
        const isStopping =
          error instanceof OpenAI.APIConnectionError ||
          (error instanceof OpenAI.APIError && error.code === "shutting_down");
        if (!isStopping || attempt > 20) throw error;
        await Bun.sleep(50);
      }
    }
  }

  start(): void {
    const loops = [0, 1, 2].map((client) =>
      this.#repeat((at) => this.#embed(`text ${at} of client ${client}`), 20),
    );
    this.#running = Promise.all([
      ...loops,
      this.#repeat((at) => this.#startBatch(at), 500),
      this.#repeat((at) => this.#startJob(at), 500),
    ]);
  }

  async #repeat(run: (at: number) => Promise<void>, pauseMs: number): Promise<void> {
    for (let at = 0; !this.#isStopped; at++) {
      await run(at).catch((error: unknown) => this.wrong.push(String(error)));
      await Bun.sleep(pauseMs);
    }
  }

  async #embed(text: string): Promise<void> {
    const { data, response } = await this.#send((client) =>
      client.embeddings
        .create({ model: "text-embedding-3-small", input: text, dimensions })
        .withResponse(),
    );
    this.requestIds.push(response.headers.get("x-request-id") ?? "");
    if (!isRight(text, data.data[0]?.embedding ?? [])) this.wrong.push(`the vector of ${text}`);
  }

  async #startBatch(at: number): Promise<void> {
    const texts = Array.from({ length: 30 }, (_, line) => `line ${line} of batch ${at}`);
    const lines = texts.map((text) => embeddingLine(text)).join("");
    const file = await this.#send((client) => uploadLines(client, lines));
    const { id } = await this.#send((client) =>
      client.batches.create({
        input_file_id: file,
        endpoint: "/v1/embeddings",
        completion_window: "24h",
      }),
    );
    this.batches.set(id, texts);
  }

  async #startJob(at: number): Promise<void> {
    const prompt = `image ${at}`;
    const job = await this.#send((client) =>
      client.post<{ id: string }>("/images/generations", {
        body: { model: "gpt-image-2", prompt, async: true },
      }),
    );
    this.jobs.set(job.id, prompt);
  }

  /** Resolves after more requests, batches and jobs. */
  async progress(): Promise<void> {
    const goals = [this.requestIds.length + 20, this.batches.size + 2, this.jobs.size + 2];
    await until(() =>
      [this.requestIds.length, this.batches.size, this.jobs.size].every(
        (count, at) => count >= (goals[at] ?? 0),
      ),
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }
}

testsWith(["postgresql", "redis"], import.meta.file, () => {
  const folder = temporaryFolder();
  const fake = startFake();
  const s3 = startFakeS3();
  let server: PostgresServer;
  let redis: RedisServer;
  beforeAll(async () => {
    server = await sharedPostgres();
    redis = new RedisServer(await freePort());
    await redis.start();
  });
  afterAll(async () => {
    await redis.stop();
    await s3.stop();
    fake.close();
    folder[Symbol.dispose]();
  });

  test("a fleet is upgraded and rolled back under load, without a wrong or lost result", async () => {
    const newer = buildNewerVersion(join(folder.path, "newer"));
    const earlier = firstRelease(join(folder.path, "earlier"));
    const databaseUrl = await server.createDatabase();
    const replicas = new Map<string, GatewayProcess>();
    const start = async (name: string, { folder: program }: GatewayVersion) => {
      const gateway = await startProcess({
        folder: folder.path,
        yaml: configFor(fake.url),
        program,
        env: {
          VEXEL_DATA: join(folder.path, name),
          VEXEL_SECRET: "a-secret-of-the-fleet",
          DATABASE_URL: databaseUrl,
          REDIS_URL: redis.url,
          BLOB_URL: s3.url("fleet"),
        },
      });
      replicas.set(name, gateway);
    };
    /** Gracefully: every row has been forwarded when the process has ended. */
    const stop = async (name: string): Promise<void> => {
      const gateway = replicas.get(name);
      replicas.delete(name);
      gateway?.kill("SIGTERM");
      expect(await gateway?.exited).toBe(0);
      const data = join(folder.path, name);
      expect(outboxRows(data)).toEqual([]);
      if (!existsSync(join(data, "backlog.db"))) return;
      using backlog = new Database(join(data, "backlog.db"));
      expect(backlog.query("SELECT request_id FROM backlog").all()).toEqual([]);
    };
    const load = new Load(() => [...replicas.values()].map(({ url }) => url));
    try {
      for (const name of ["first", "second"]) await start(name, earlier);
      load.start();
      await load.progress();
      for (const name of ["first", "second"]) {
        await stop(name);
        await start(name, newer);
        await load.progress();
      }
      // One goes back with its own data folder, and one with an empty one.
      for (const name of ["first", "second"]) {
        await stop(name);
        if (name === "second") rmSync(join(folder.path, name), { recursive: true });
        await start(name, earlier);
        await load.progress();
      }
      await load.stop();
      expect(load.wrong).toEqual([]);
      const client = load.client();
      for (const [id, texts] of load.batches) {
        await until(async () => (await client.batches.retrieve(id)).status === "completed");
        const { output_file_id: output } = await client.batches.retrieve(id);
        const results = await resultLines(client, output ?? "");
        expect(results.map(({ custom_id }) => custom_id)).toEqual([...texts]);
        for (const { custom_id: text, response } of results) {
          const { data } = (response as ResultLine["response"] & object).body as {
            data: [{ embedding: number[] }];
          };
          if (!isRight(text, data[0].embedding)) load.wrong.push(text);
        }
      }
      for (const id of load.jobs.keys()) {
        const job = () => client.get<{ status: string }>(`/images/jobs/${id}`);
        await until(async () => (await job()).status === "completed");
      }
      for (const name of [...replicas.keys()]) await stop(name);
    } finally {
      await load.stop();
      for (const gateway of replicas.values()) await gateway.close();
    }
    expect(load.wrong).toEqual([]);
    const sent = fake.requests.flatMap(({ json }) => (json as { prompt?: string })?.prompt ?? []);
    expect(sent.toSorted()).toEqual([...load.jobs.values()].toSorted());
    const rowsOf = <Row>(text: string) => server.execute<Row>(databaseName(databaseUrl), text);
    const rows = await rowsOf<{ id: string }>("SELECT request_id AS id FROM vexel.ledger");
    const counts = new Map<string, number>();
    for (const { id } of rows) counts.set(id, (counts.get(id) ?? 0) + 1);
    expect(load.requestIds.filter((id) => counts.get(id) !== 1)).toEqual([]);
    expect(
      await rowsOf("SELECT name FROM vexel.schema_migrations ORDER BY number DESC LIMIT 1"),
    ).toEqual([{ name: addedMigration }]);
    // Rows of the time between have the values of the migration, later ones do not.
    const [filled] = await rowsOf<{ count: number }>(
      "SELECT count(*)::int AS count FROM vexel.ledger WHERE added IS NOT NULL",
    );
    expect(filled?.count).toBeGreaterThan(0);
  });
});
