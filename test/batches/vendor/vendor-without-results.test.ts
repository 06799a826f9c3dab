/**
 * A vendor bills what it has run, whether its results arrive or not. Each line that it may have run, and that has no
 * result, has one ledger row with the estimate that was reserved for it.
 */
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import type OpenAI from "openai";
import { fakeTokens } from "../../fake-upstream/vectors.ts";
import { startFake } from "../../fake-upstream.ts";
import { startGateway } from "../../harness.ts";
import { until } from "../../until.ts";
import { line } from "../lines.ts";
import {
  createBatch,
  endOf,
  inputLine,
  resultsOf,
  sdk,
  startVendor,
  type VexelBatch,
  vendorModels,
  vendorYaml,
} from "./vendor-fixture.ts";

const vendor = startVendor("openai");
/** It serves requests that run now. */
const direct = startFake({ key: "sk-fake" });
const withoutDirect = vendorYaml("openai", vendor.url, {
  key: ", project: one, budget: { total: 1 }",
  targets: ", { upstream: direct, model: text-embedding-3-small, tier: 1 }",
}).replace("keys:", "projects: [{ name: one }]\nkeys:");
const yaml = withoutDirect.replace(
  "models:",
  `  - { id: direct, kind: openai-compatible, baseUrl: "${direct.url}", apiKey: sk-fake }\nmodels:`,
);
const gateway = startGateway({ yaml });
const client = sdk(gateway.url);
afterAll(async () => {
  await gateway.close();
  vendor.close();
  direct.close();
});
beforeEach(() => {
  Object.assign(vendor.control, {
    isReady: false,
    alter: (results: unknown) => results,
    outcome: "completed",
    failure: () => undefined,
  });
  vendor.batches.length = 0;
});

const ids = ["a", "b", "c"];
const file = ids.map((id) => inputLine(id, `text ${id}`)).join("");
const { price, factor } = vendorModels.openai;
const estimate = (fakeTokens("text a") * price * factor) / 1_000_000;
const execution = (name: "vendor" | "cheapest") => ({ "vexel.batch": name });

const runningBatch = async (
  text = file,
  name: "vendor" | "cheapest" = "vendor",
): Promise<string> => {
  const { id } = await createBatch(client, text, execution(name));
  await until(() => vendor.batches[0]?.state === "running");
  return id;
};
const rowsOf = ({ id }: Pick<OpenAI.Batch, "id">) =>
  gateway
    .rows()
    .filter(({ requestId }) => requestId.startsWith(id))
    .sort((a, b) => (a.requestId < b.requestId ? -1 : 1));

/** Each line has one row, whose charge is the estimate, and nothing stays reserved. */
async function expectEstimates(batch: VexelBatch): Promise<void> {
  const rows = rowsOf(batch);
  expect(rows.map(({ requestId }) => requestId)).toEqual([0, 1, 2].map((n) => `${batch.id}-${n}`));
  for (const row of rows) {
    expect(row).toMatchObject({
      ...{ keyId: "file:test", project: "one", model: "embedding", endpoint: "embeddings" },
      ...{ upstream: "vendor", targetModel: vendorModels.openai.model, attempts: 1, inputs: 1 },
      ...{ status: 502, error: "vendor_batch_failed", cost: null },
    });
    expect(row.estimatedCost).toBeCloseTo(estimate, 9);
  }
  // The batch ended when it was given up.
  expect(new Set(rows.map(({ at }) => at)).size).toBe(1);
  expect(batch.vexel.cost?.actual).toBeCloseTo(3 * estimate, 9);
  expect(batch.vexel.cost?.now).toBeCloseTo((3 * estimate) / factor, 9);
  expect(reserved()).toEqual([]);
}

const reserved = (): unknown[] => {
  using db = new Database(join(gateway.folder, "jobs.db"));
  return db
    .query("SELECT reserved FROM job_ranges WHERE reserved IS NOT NULL AND settled < lines")
    .all();
};

const change = (sql: string, ...values: readonly (string | number)[]): void => {
  using db = new Database(join(gateway.folder, "jobs.db"));
  db.query(sql).run(...values);
};

test("a batch that the vendor does not know any more is charged by its estimates", async () => {
  const id = await runningBatch();
  vendor.control.failure = (request) => (/^GET \/v1\/batches\/./.test(request) ? 404 : undefined);
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ status: "failed", request_counts: { completed: 0, failed: 3 } });
  expect(batch.errors?.data?.[0]?.message).toContain("does not know it any more");
  await expectEstimates(batch);
});

test("a canceled batch that the vendor does not end in 15 minutes is charged by its estimates", async () => {
  const id = await runningBatch();
  vendor.control.failure = (request) => (request.endsWith("/cancel") ? 500 : undefined);
  await client.batches.cancel(id);
  await until(() => {
    // 16 minutes pass.
    change(
      "UPDATE job_ranges SET phase_since = ? WHERE job_id = ? AND phase = 'canceling'",
      Date.now() - 16 * 60_000,
      id,
    );
    return rowsOf({ id }).length === 3;
  });
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ status: "cancelled", request_counts: { completed: 0, failed: 3 } });
  expect((await resultsOf(client, batch)).get("a")?.error?.code).toBe("batch_cancelled");
  await expectEstimates(batch);
});

test("a batch whose results nobody can read is charged by its estimates, and fails with the reason", async () => {
  const id = await runningBatch();
  change("UPDATE job_ranges SET readings = 3 WHERE job_id = ?", id);
  vendor.control.isReady = true;
  const batch = await endOf(client, id);
  expect(batch.status).toBe("failed");
  expect(batch.errors?.data?.[0]?.message).toContain("could not be read in 3 attempts");
  await expectEstimates(batch);
});

test.each([
  ["the model", yaml.replace("id: embedding\n", "id: another\n"), "model_not_found", /model/],
  [
    "the upstream",
    yaml.replace(/ {2}- \{ id: vendor.*\n/, "").replace(/\{ upstream: vendor[^}]*\}, /, ""),
    "vendor_batch_failed",
    /upstream was deleted/,
  ],
])(
  "a batch at a vendor is charged by its estimates if %s is deleted meanwhile",
  async (_, changed, code, reason) => {
    const id = await runningBatch();
    gateway.reload(changed);
    try {
      // Another replica may know it, so this one waits, and says for what.
      const waiting = async () => {
        const { vexel } = (await client.batches.retrieve(id)) as VexelBatch;
        return vexel.waiting?.message;
      };
      await until(async () => (await waiting()) !== undefined);
      expect(await waiting()).toMatch(reason);
      expect(rowsOf({ id })).toEqual([]);
      // Ten minutes pass.
      change("UPDATE job_ranges SET phase_since = phase_since - 600000 WHERE job_id = ?", id);
      const batch = await endOf(client, id);
      expect(batch.request_counts).toEqual({ total: 3, completed: 0, failed: 3 });
      expect(JSON.stringify((await resultsOf(client, batch)).get("a"))).toContain(code);
      await until(() => rowsOf(batch).length >= 3);
      const ofVendor = rowsOf(batch).filter(({ upstream }) => upstream === "vendor");
      expect(ofVendor.map(({ requestId }) => requestId)).toEqual(
        [0, 1, 2].map((n) => `${batch.id}-${n}`),
      );
      for (const row of ofVendor) expect(row.estimatedCost).toBeCloseTo(estimate, 9);
      expect(reserved()).toEqual([]);
    } finally {
      gateway.reload(yaml);
    }
  },
);

test("lines at the vendor of a batch that fails meanwhile, such as for want of storage, are charged their estimates", async () => {
  const id = await runningBatch();
  change(
    `UPDATE jobs SET status = 'finalizing', ending = 'failed', finalizing_at = ?,
       error = '{"code":"storage_unavailable","message":"No space.","type":"","param":null}' WHERE id = ?`,
    Date.now(),
    id,
  );
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ status: "failed", request_counts: { completed: 0, failed: 3 } });
  const rows = rowsOf(batch);
  expect(rows.map(({ requestId }) => requestId)).toEqual([0, 1, 2].map((n) => `${id}-${n}`));
  for (const { estimatedCost } of rows) expect(estimatedCost).toBeCloseTo(estimate, 9);
  expect(reserved()).toEqual([]);
  // It does not go on there.
  await until(() => vendor.batches[0]?.state === "cancelling");
});

test("a line that a completed batch has no result for is charged its estimate, with its end user and its tags", async () => {
  Object.assign(vendor.control, { isReady: true, alter: (all: unknown[]) => all.slice(1) });
  const body = { model: "embedding", input: "text a", user: "ann", metadata: { team: "red" } };
  const text = line("a", "/v1/embeddings", body) + inputLine("b", "text b");
  const batch = await endOf(client, (await createBatch(client, text, execution("vendor"))).id);
  expect(batch.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
  const [missing, found] = rowsOf(batch);
  expect(missing).toMatchObject({
    ...{ status: 502, error: "upstream_invalid", cost: null },
    ...{ endUser: expect.stringMatching(/^eu_/), tags: "team:red" },
  });
  expect(missing?.estimatedCost).toBeCloseTo(estimate, 9);
  expect(found).toMatchObject({ status: 200, estimatedCost: null });
});

test("a line that runs now, because a completed batch has no result for it, is charged for both", async () => {
  Object.assign(vendor.control, { isReady: true, alter: (all: unknown[]) => all.slice(1) });
  const batch = await endOf(client, (await createBatch(client, file, execution("cheapest"))).id);
  expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
  const [first, ...others] = rowsOf(batch).filter(({ requestId }) =>
    /-0(-|$)/.test(requestId.slice(batch.id.length)),
  );
  expect(first).toMatchObject({ upstream: "vendor", status: 502, cost: null });
  expect(first?.estimatedCost).toBeCloseTo(estimate, 9);
  expect(others).toMatchObject([{ upstream: "direct", status: 200 }]);
});
