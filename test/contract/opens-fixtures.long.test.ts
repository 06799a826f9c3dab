/**
 * Data that an earlier version has stored: this version opens it, has every kind of row, and goes on with the jobs that
 * were half done when the gateway was killed.
 */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import OpenAI from "openai";
import { signLink } from "../../server/images/signed-link.ts";
import { openLinkSecrets } from "../../server/storage/files/link-secret.ts";
import { totpCode } from "../admin/totp-code.ts";
import { closeAfterEach } from "../clean-up.ts";
import { type Received, startReceiver } from "../events/webhooks-fixture.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import { type GatewayProcess, startProcess, temporaryFolder, testKey } from "../harness.ts";
import { vexel } from "../process/process-fixture.ts";
import { testWithPostgres } from "../storage/postgres-server.ts";
import { buildNewerVersion } from "../topology/newer-version.ts";
import { until } from "../until.ts";
import {
  adminToken,
  type Fixture,
  type FixtureDatabase,
  fixtureSecret,
  fixtureVersions,
  openFixture,
} from "./open-fixture.ts";
import {
  client,
  heldLines,
  type Known,
  statement,
  statementCsv,
  webhookSecret,
} from "./store-everything.ts";

const closing = closeAfterEach();

type Json = Readonly<Record<string, unknown>>;

interface Opened {
  readonly fixture: Fixture;
  readonly fake: Fake;
  readonly received: readonly Received[];
  readonly receiverUrl: string;
  /** `program`: the folder of another version. */
  start(environment?: Readonly<Record<string, string>>, program?: string): Promise<GatewayProcess>;
}

async function open(version: string, database: FixtureDatabase): Promise<Opened> {
  const fake = startFake();
  const receiver = startReceiver();
  const fixture = await openFixture(version, database, {
    upstream: fake.url,
    webhooks: receiver.url,
  });
  for (const each of [fake, receiver]) closing(each);
  closing({ close: () => fixture[Symbol.asyncDispose]() });
  const start = async (environment = {}, program?: string) => {
    const gateway = await startProcess({
      folder: fixture.folder,
      env: { ...fixture.environment, ...environment },
      ...(program !== undefined && { program }),
    });
    closing(gateway);
    return gateway;
  };
  return { fixture, fake, received: receiver.received, receiverUrl: receiver.url, start };
}

const admin = ({ url }: GatewayProcess, headers: Readonly<Record<string, string>>) =>
  client(`${url}/admin/api`, headers);
/** In the log. */
const leftOut = String.raw`the stored upstream \"stored\" is left out`;

const asOperator = { authorization: `Bearer ${adminToken}` };

const embed = (gateway: GatewayProcess, model: string, key = testKey): Promise<Response> =>
  gateway.post("/v1/embeddings", { model, input: "x" }, { authorization: `Bearer ${key}` });

/** When the code is one that was not used: a code is valid once, for 30 seconds and the next 30. */
const afterMs = (ms: number): number => Date.now() + ms;

/** As Ada, with her password and the code that her app shows at a time. */
const signIn = (
  gateway: GatewayProcess,
  { password, totpSecret }: Known,
  codeAt = afterMs(30_000),
) =>
  admin(gateway, {}).post("/session", {
    name: "Ada",
    password,
    code: totpCode(totpSecret, codeAt),
  });

/** Of the stored image, in a link that the earlier version would sign today. */
async function linkStatus({ url }: GatewayProcess, { folder, known }: Fixture): Promise<number> {
  const [secret] = openLinkSecrets({ folder, secret: fixtureSecret, previous: [] });
  const link = new URL(known.imageLink, url);
  const name = link.pathname.split("/").at(-1) ?? "";
  const expires = Number(link.searchParams.get("expires"));
  expect(link.search).toBe(signLink(name, expires, secret));
  const search = signLink(name, Math.floor(Date.now() / 1000) + 600, secret);
  return (await fetch(`${url}${link.pathname}${search}`)).status;
}

async function goesOnWithJobs(gateway: GatewayProcess, { known }: Fixture, fake: Fake) {
  const openai = new OpenAI({ apiKey: testKey, baseURL: `${gateway.url}/v1` });
  const linesOf = async (file: string | null | undefined): Promise<Record<string, unknown>[]> => {
    if (!file) return [];
    const text = await (await openai.files.content(file)).text();
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  const ended = async (id: string) => {
    let batch = await openai.batches.retrieve(id);
    await until(async () => {
      batch = await openai.batches.retrieve(id);
      return batch.status === "completed";
    });
    return batch;
  };
  const done = await ended(known.doneBatch);
  expect(await linesOf(done.output_file_id)).toHaveLength(2);
  const held = await ended(known.heldBatch);
  expect(held.request_counts).toEqual({ total: heldLines, completed: heldLines, failed: 0 });
  expect((await linesOf(held.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(
    Array.from({ length: heldLines }, (_, at) => `line-${at}`),
  );
  // Of the third line, the upstream request was lost after it was sent: it may have been billed, and is not sent again.
  const images = await ended(known.imageBatch);
  const named = async (file: string | undefined) =>
    (await linesOf(file)).map(({ custom_id }) => custom_id);
  expect(await named(images.output_file_id)).toEqual(["first", "second", "fourth"]);
  expect(await named(images.error_file_id)).toEqual(["held third"]);
  const prompts = fake.requests.flatMap(({ json }) => (json as { prompt?: string })?.prompt ?? []);
  expect(prompts).toEqual(["fourth"]);
  const job = () =>
    client(`${gateway.url}/v1`, { authorization: `Bearer ${testKey}` }).send(
      "GET",
      `/images/jobs/${known.imageJob}`,
    );
  await until(async () => (await job()).status === "failed");
}

async function hasEverything(gateway: GatewayProcess, fixture: Fixture, fake: Fake) {
  const { known } = fixture;
  const operator = admin(gateway, asOperator);
  // Keys, projects, upstreams with encrypted credentials, models, alerts.
  expect((await embed(gateway, "stored-model", known.appKey)).status).toBe(200);
  expect(fake.requests.at(-1)?.headers.authorization).toBe("Bearer sk-fake");
  const idsOf = async (path: string): Promise<unknown[]> => {
    const { data } = (await operator.send("GET", path)) as { data: Record<string, unknown>[] };
    return data.map(({ name, id }) => name ?? id);
  };
  expect((await idsOf("/keys")).toSorted()).toEqual(["app", "revoked", "test"]);
  expect(await idsOf("/projects")).toContain("web");
  expect(await idsOf("/alerts")).toEqual(["errors"]);
  const csv = `/admin/api/projects/${statement.project}/statements/${statement.month}`;
  const response = await fetch(`${gateway.url}${csv}`, { headers: asOperator });
  expect(await response.text()).toBe(statementCsv);
  // Users, the second factor, sessions, tokens.
  expect((await idsOf("/users")).toSorted()).toEqual(["Ada", "Eve"]);
  const session = await admin(gateway, { cookie: known.sessionCookie }).send("GET", "/session");
  expect(session.user).toMatchObject({ name: "Ada" });
  const codeAt = afterMs(30_000);
  await signIn(gateway, known, codeAt);
  await expect(signIn(gateway, known, codeAt)).rejects.toThrow("401");
  const ada = admin(gateway, { authorization: `Bearer ${known.adaToken}` });
  expect(await ada.send("GET", "/users")).toBeDefined();
  expect(((await operator.send("GET", "/audit")).data as unknown[]).length).toBeGreaterThan(10);
  // Stored responses, images, files, uploads.
  const before = fake.requests.length;
  const headers = { "idempotency-key": known.idempotencyKey };
  const replayed = await gateway.post("/v1/images/generations", known.imageRequest, headers);
  expect(JSON.stringify(await replayed.json())).toBe(known.idempotentBody);
  expect(fake.requests.length).toBe(before);
  const openai = new OpenAI({ apiKey: testKey, baseURL: `${gateway.url}/v1` });
  expect(await (await openai.files.content(known.keptFile)).text()).toBe(known.keptText);
  const rest = known.uploadBytes - known.keptText.length;
  const part = await openai.uploads.parts.create(known.upload, {
    data: new File([`${"x".repeat(rest - 1)}\n`], "rest"),
  });
  const upload = await openai.uploads.complete(known.upload, {
    part_ids: [known.uploadPart, part.id],
  });
  expect(upload.file?.bytes).toBe(known.uploadBytes);
  // The ledger, and the sums of it.
  const requests = (await operator.send("GET", "/requests?limit=100")) as { data: unknown[] };
  expect(requests.data.length).toBeGreaterThan(5);
  const usage = (await operator.send("GET", "/usage?interval=total&group_by=model")) as {
    data: { group: { model: string }; cost: number }[];
  };
  const images = usage.data.find(({ group }) => group.model === "gpt-image-2");
  expect(images?.cost).toBeGreaterThan(0.06);
}

describe.each([...fixtureVersions])("the data of %s", (version) => {
  for (const database of ["sqlite", "postgres"] as const) {
    const run = database === "postgres" ? testWithPostgres : test;
    run(`in ${database} is opened, and its half-done jobs go on`, async () => {
      const { fixture, fake, received, receiverUrl, start } = await open(version, database);
      const { known } = fixture;
      const gateway = await start();
      await goesOnWithJobs(gateway, fixture, fake);
      await hasEverything(gateway, fixture, fake);
      if (database === "sqlite") expect(await linkStatus(gateway, fixture)).toBe(200);
      // Pending and new deliveries, signed with the stored secrets. The stored webhook gets another address.
      const operator = admin(gateway, asOperator);
      const { data: webhooks } = (await operator.send("GET", "/webhooks")) as { data: Json[] };
      await operator.send("PUT", `/webhooks/${webhooks[0]?.name}`, {
        url: receiverUrl,
        secret: { $secret: true },
        events: ["key.created"],
      });
      await operator.post("/keys", { name: "later" });
      const openai = new OpenAI({ apiKey: testKey });
      await until(() => received.some(({ type }) => type === "key.created"));
      await until(() => received.filter(({ type }) => type === "batch.completed").length >= 3);
      for (const { type, body, headers } of received) {
        const secret = type.startsWith("key.") ? webhookSecret : known.endpointSecret;
        await openai.webhooks.unwrap(body, headers, secret);
      }
      gateway.kill("SIGTERM");
      expect(await gateway.exited).toBe(0);
    });

    run(
      `in ${database} is migrated by the next version, and its half-done jobs go on`,
      async () => {
        const folder = temporaryFolder();
        closing(folder);
        const newer = buildNewerVersion(join(folder.path, "newer"));
        const { fixture, fake, start } = await open(version, database);
        const gateway = await start({}, newer.folder);
        await goesOnWithJobs(gateway, fixture, fake);
        const added = "SELECT DISTINCT added FROM ledger WHERE added IS NOT NULL";
        expect(await fixture.read("ledger.db", added)).toEqual([{ added: "by the migration" }]);
        gateway.kill("SIGTERM");
        expect(await gateway.exited).toBe(0);
      },
    );

    run(`in ${database} is readable with another VEXEL_SECRET and the previous one`, async () => {
      const { fixture, fake, received, start } = await open(version, database);
      const { known } = fixture;
      const secrets = { VEXEL_SECRET: "another-secret-of-a-test" };
      const both = { ...secrets, VEXEL_SECRET_PREVIOUS: fixtureSecret };
      const stop = async (gateway: GatewayProcess) => {
        gateway.kill("SIGTERM");
        await gateway.exited;
      };

      // Without the earlier secret, the gateway leaves out what it cannot read, and names it.
      const without = await start(secrets);
      expect(without.output()).toContain(leftOut);
      expect((await embed(without, "stored-model")).status).toBe(404);
      expect((await embed(without, "text-embedding-3-small")).status).toBe(200);
      await expect(signIn(without, known)).rejects.toThrow();
      if (database === "sqlite") expect(await linkStatus(without, fixture)).toBe(404);
      await stop(without);

      // With both, everything works, and a sign-in encrypts the second factor again.
      const rotating = await start(both);
      expect((await embed(rotating, "stored-model")).status).toBe(200);
      expect(fake.requests.at(-1)?.headers.authorization).toBe("Bearer sk-fake");
      await signIn(rotating, known);
      if (database === "sqlite") expect(await linkStatus(rotating, fixture)).toBe(200);
      await until(() => received.some(({ type }) => type === "batch.completed"));
      const completed = received.find(({ type }) => type === "batch.completed");
      const openai = new OpenAI({ apiKey: testKey });
      await openai.webhooks.unwrap(
        completed?.body ?? "",
        completed?.headers ?? new Headers(),
        known.endpointSecret,
      );
      await stop(rotating);

      const env = { VEXEL_DATA: "data", ...fixture.environment, ...both };
      const reencrypted = await vexel(["config", "reencrypt"], { cwd: fixture.folder, env });
      expect(reencrypted).toMatchObject({ code: 0 });

      // The earlier secret is needed no more.
      const after = await start(secrets);
      expect(after.output()).not.toContain(leftOut);
      expect((await embed(after, "stored-model")).status).toBe(200);
      await signIn(after, known, afterMs(60_000)).catch(() => undefined);
      if (database === "sqlite") expect(await linkStatus(after, fixture)).toBe(404);
      await stop(after);
    });
  }

  test("in sqlite goes on with its half-done jobs from a backup", async () => {
    const { fixture, fake, start } = await open(version, "sqlite");
    const inFolder = (data: string) => ({
      cwd: fixture.folder,
      env: { ...fixture.environment, VEXEL_DATA: data },
    });
    expect(await vexel(["db", "backup", "backup"], inFolder("data"))).toMatchObject({ code: 0 });
    const restored = await vexel(["db", "restore", "backup"], inFolder("restored"));
    expect(restored).toMatchObject({ code: 0, err: "" });
    const gateway = await start({ VEXEL_DATA: join(fixture.folder, "restored") });
    await goesOnWithJobs(gateway, fixture, fake);
  });
});
