/** Laws (contract tests) of the port `JobStore`, for every implementation. */
import { describe, expect } from "bun:test";
import type { JobStore } from "../../../server/storage/sql/job-store.ts";
import type {
  JobQuota,
  NewJob,
  NewRange,
  RangeClaim,
  RangeReservation,
  RangeState,
  SettledLines,
  Wait,
  Work,
} from "../../../server/storage/sql/stored-job.ts";
import { awkwardTexts, type Implementation, lawsOf } from "./backend.ts";

const now = Date.UTC(2026, 10, 15);
const [minute, day] = [60_000, 86_400_000];
const unlimited: JobQuota = { jobs: 1000, bytes: 1e12 };

const range = (firstLine: number, lines: number): NewRange => ({
  firstLine,
  lines,
  position: firstLine * 100,
});

const newJob = (id: string, more: Partial<NewJob> = {}): NewJob => ({
  id,
  kind: "batch",
  endpoint: "/v1/embeddings",
  owner: "project-a",
  keyId: "key_a",
  status: "in_progress",
  createdAt: now,
  deadline: now + day,
  expiresAt: now + 2 * day,
  bytes: 10,
  data: {},
  ranges: [range(0, 2), range(2, 1)],
  ...more,
});

const add = async (store: JobStore, id: string, more: Partial<NewJob> = {}) =>
  store.create(newJob(id, more), unlimited, unlimited);

const [embeddings, images] = ["/v1/embeddings", "/v1/images/generations"] as const;
const endpoints = [embeddings, images];

/** Of a range. */
const claimOf = (holder: string, at = now) =>
  ({
    kind: "batch",
    endpoints,
    owner: "project-a",
    keyId: "key_a",
    holder,
    now: at,
    until: at + minute,
  }) as const;

const reservedOf = (nanos: number): RangeReservation => ({
  version: 1,
  nanos,
  labels: { "end_user=ann": nanos },
});

/** Of a job that is to be validated or finalized. */
const jobClaimOf = (holder: string, at = now) => ({ ...claimOf(holder, at), endpoints: null });

const settled = (from: number, more: Partial<SettledLines> = {}): SettledLines => ({
  from,
  completed: 1,
  failed: 0,
  bytes: 5,
  cost: null,
  reserved: null,
  listCost: null,
  errors: [],
  now,
  ...more,
});

/** A range that waits for nothing. */
const free: Wait = { until: now, error: null };
const until = (at: number): Wait => ({ ...free, until: at });

const atVendor = (vendorBatch: string, reserved: RangeReservation | null): RangeState => ({
  phase: "created",
  phaseSince: now,
  readings: 0,
  vendorBatch,
  reserved,
});

/** Claims the next range. */
async function claim(store: JobStore, holder: string, at = now) {
  const claimed = await store.claimRange(claimOf(holder, at));
  if (!claimed) throw new Error("No range was claimed.");
  const { job, number, attempts: attempt } = claimed;
  const by: RangeClaim = { jobId: job.id, number, holder, attempt };
  return { ...claimed, by };
}

const numberOf = async (store: JobStore, holder: string, at = now) =>
  (await store.claimRange(claimOf(holder, at)))?.number;

export function jobStoreLaws(implementation: Implementation<JobStore>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} jobs`, () => {
    law("a stored job is found by its owner only, with every field", async (open) => {
      const store = await open();
      for (const [at, text] of awkwardTexts.entries()) {
        const job = newJob(`batch_${at}`, { owner: text, data: { text, nested: [at] } });
        expect(await store.create(job, unlimited, unlimited)).toMatchObject({ kind: "created" });
        const { ranges: _, ...fields } = job;
        expect(await store.find(text, job.id)).toEqual({
          ...fields,
          ending: null,
          startedAt: null,
          pausedAt: null,
          cancellingAt: null,
          finalizingAt: null,
          endedAt: null,
          validations: 0,
          lines: 3,
          completed: 0,
          failed: 0,
          cost: null,
          listCost: null,
          waiting: null,
          lineErrors: [],
          error: null,
        });
        expect(await store.find("another", job.id)).toBeUndefined();
      }
    });

    law("the jobs of some or all owners are listed page by page, newest first", async (open) => {
      const store = await open();
      await add(store, "batch_1", { createdAt: now - 2 });
      await add(store, "imgjob_1", { createdAt: now - 1, kind: "image", owner: "b" });
      await add(store, "batch_2");
      await add(store, "batch_3", { owner: "c" });
      const idsOf = async (owners: readonly string[] | null) => {
        const ids: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const { entries, next } = await store.listAll(owners, { limit: 1, cursor });
          ids.push(...entries.map(({ id }) => id));
          if (next === undefined) return ids;
          cursor = next;
        }
      };
      expect(await idsOf(null)).toEqual(["batch_3", "batch_2", "imgjob_1", "batch_1"]);
      expect(await idsOf(["project-a", "b"])).toEqual(["batch_2", "imgjob_1", "batch_1"]);
      expect(await idsOf([])).toEqual([]);
      expect((await store.findById("imgjob_1"))?.owner).toBe("b");
      expect(await store.findById("batch_4")).toBeUndefined();
    });

    law("the known cost of settled lines is added up", async (open) => {
      const store = await open();
      await add(store, "batch_1", { ranges: [range(0, 3)] });
      const { by } = await claim(store, "one");
      const costAfter = async (from: number, cost: number | null) => {
        await store.settle(by, settled(from, { cost, listCost: cost && 2 * cost }));
        const job = await store.findById("batch_1");
        return [job?.cost, job?.listCost];
      };
      expect(await costAfter(0, null)).toEqual([null, null]);
      expect(await costAfter(1, 0.25)).toEqual([0.25, 0.5]);
      expect(await costAfter(2, 0.5)).toEqual([0.75, 1.5]);
    });

    law("the state of a vendor's batch stays with its range", async (open) => {
      const store = await open();
      const planned = { ...range(0, 2), phase: "planned" } as const;
      await add(store, "batch_1", { ranges: [planned] });
      const first = await claim(store, "one");
      expect(first).toMatchObject({ phase: "planned", phaseSince: now, vendorBatch: null });
      const state: RangeState = {
        phase: "delivering",
        phaseSince: now + 1,
        readings: 2,
        vendorBatch: "vendor batch",
        reserved: reservedOf(5),
      };
      expect(await store.recordState(first.by, state)).toBe(true);
      await store.releaseRange(first.by, until(now + 5));
      expect(await store.claimRange(claimOf("two", now + 4))).toBeUndefined();
      const second = await claim(store, "two", now + 5);
      expect(second).toMatchObject({ ...state, attempts: 1 });
      expect(await store.recordState(first.by, { ...state, readings: 0 })).toBe(false);
      await store.settle(second.by, settled(0, { reserved: reservedOf(2) }));
      await store.releaseRange(second.by, free);
      const third = await claim(store, "three", now + 5);
      expect(third).toMatchObject({ ...state, reserved: reservedOf(2), settled: 1, attempts: 2 });
      await store.releaseRange(third.by, until(now + day));
      expect(await store.claimRange(claimOf("four", now + 6))).toBeUndefined();
      await store.cancel("project-a", "batch_1", now);
      expect((await claim(store, "five", now + 6)).job.ending).toBe("cancelled");
    });

    law("a job shows the next attempt after an error, until a line has ended", async (open) => {
      const store = await open();
      await add(store, "batch_1", { ranges: [range(0, 2), range(2, 2)] });
      const [first, second] = [await claim(store, "one"), await claim(store, "two")];
      const shown = async () => (await store.find("project-a", "batch_1"))?.waiting;
      const [refused, down] = [
        { code: "rate_limited", message: 'Too "many".' },
        { code: "upstream_error", message: "It is down." },
      ];
      await store.recordWait(first.by, { until: now + 7.5, error: refused });
      await store.releaseRange(second.by, { until: now + 9, error: down });
      expect(await shown()).toEqual({ until: now + 7.5, error: refused });
      expect((await store.listAll(null, { limit: 1 })).entries[0]?.waiting?.error).toEqual(refused);
      await store.settle(first.by, settled(0));
      expect(await shown()).toEqual({ until: now + 9, error: down });
      const again = await claim(store, "three", now + 9);
      await store.settle(again.by, settled(0));
      expect(await shown()).toBeNull();
    });

    law(
      "a job shows its last error while the next attempt runs, and after a stop or a cancel",
      async (open) => {
        const store = await open();
        await add(store, "batch_1", { ranges: [range(0, 1)] });
        const shown = async () => (await store.find("project-a", "batch_1"))?.waiting;
        const down = { code: "upstream_error", message: "It is down." };
        const first = await claim(store, "one");
        await store.releaseRange(first.by, { until: now + 5, error: down });
        const second = await claim(store, "two", now + 5);
        expect(second.lastError).toEqual(down);
        await store.recordState(second.by, { ...atVendor("created", null), phase: "creating" });
        expect(await shown()).toEqual({ until: now + 5, error: down });
        const refused = { code: "rate_limited", message: "Too many." };
        await store.recordWait(second.by, { until: now + 60, error: refused });
        await store.releaseRange(second.by);
        expect(await shown()).toEqual({ until: now + 60, error: refused });
        // The next attempt is now.
        await store.cancel("project-a", "batch_1", now + 7);
        expect(await shown()).toEqual({ until: now + 7, error: refused });
        const third = await claim(store, "three", now + 7);
        await store.settle(third.by, settled(0));
        expect(await shown()).toBeNull();
      },
    );

    law("the errors of lines are counted by their kind", async (open) => {
      const store = await open();
      await add(store, "batch_1", { ranges: [range(0, 9)] });
      const { by } = await claim(store, "one");
      const refused = { code: "rate_limited", message: "first", count: 2 };
      const failed = { completed: 0, failed: 2 };
      await store.settle(by, settled(0, { ...failed, errors: [refused] }));
      const many = Array.from({ length: 25 }, (_, at) => ({
        code: `${at}`,
        message: "",
        count: 1,
      }));
      await store.settle(
        by,
        settled(2, { ...failed, errors: [{ ...refused, message: "later" }, ...many] }),
      );
      const { lineErrors = [] } = (await store.findById("batch_1")) ?? {};
      expect(lineErrors).toHaveLength(20);
      expect(lineErrors[0]).toEqual({ ...refused, count: 4 });
    });

    law(
      "the cost that is reserved for a range is listed until its lines have ended",
      async (open) => {
        const store = await open();
        await add(store, "batch_1", { ranges: [range(0, 1), range(1, 1), range(2, 1)] });
        const costs = async () =>
          (await store.listReserved()).map(({ number, reserved }) => [number, reserved.nanos]);
        expect(await costs()).toEqual([]);
        const [first, second, third] = [
          await claim(store, "one"),
          await claim(store, "two"),
          await claim(store, "three"),
        ];
        await store.recordState(first.by, atVendor("created", reservedOf(25)));
        await store.recordState(second.by, atVendor("created", reservedOf(50)));
        await store.recordState(third.by, atVendor("of unknown cost", null));
        expect(await store.listReserved()).toContainEqual({
          jobId: "batch_1",
          number: 0,
          owner: first.job.owner,
          keyId: first.job.keyId,
          reserved: reservedOf(25),
        });
        await store.settle(first.by, settled(0));
        expect(await costs()).toEqual([[1, 50]]);
        await store.recordState(second.by, {
          ...atVendor("refused", null),
          phase: "refused",
        });
        expect(await costs()).toEqual([]);
      },
    );

    law(
      "a range whose batch is at a vendor is listed from its end until nothing is left there",
      async (open) => {
        const store = await open();
        await add(store, "batch_1", { ranges: [range(0, 1), range(1, 1), range(2, 1)] });
        const listed = async (at = now) =>
          (await store.listUncleaned(at, 10)).map(({ job, number, vendorBatch }) => [
            job.status,
            number,
            vendorBatch,
          ]);
        const claims = [
          await claim(store, "one"),
          await claim(store, "two"),
          await claim(store, "three"),
        ];
        for (const { by } of claims.slice(0, 2))
          await store.recordState(by, atVendor(`batch ${by.number}`, reservedOf(5)));
        expect(await listed()).toEqual([]);
        await store.settle(claims[0]!.by, settled(0));
        expect(await listed()).toEqual([["in_progress", 0, "batch 0"]]);
        await store.setCleaned("batch_1", 0, now + 5);
        expect(await listed(now + 4)).toEqual([]);
        expect(await listed(now + 5)).toHaveLength(1);
        await store.setCleaned("batch_1", 0);
        expect(await listed(now + 5)).toEqual([]);
        const error = { message: "m", type: "t", param: null, code: "c", status_code: 503 };
        await store.fail("batch_1", error, now);
        expect(await listed(now + 2 * minute)).toEqual([]);
        for (const { by } of claims.slice(1)) await store.releaseRange(by, free);
        expect(await listed()).toEqual([["finalizing", 1, "batch 1"]]);
        await store.claimJob(jobClaimOf("p"));
        await store.end("batch_1", "p", { status: "failed", at: now, expiresAt: now });
        expect(await listed()).toEqual([["failed", 1, "batch 1"]]);
        expect(await store.listReserved()).toEqual([]);
        await store.remove("batch_1");
        expect(await listed()).toEqual([]);
      },
    );

    law("the same idempotency key of an owner returns its first job", async (open) => {
      const store = await open();
      await add(store, "batch_1", { idempotencyKey: "k" });
      expect(await add(store, "batch_2", { idempotencyKey: "k" })).toMatchObject({
        kind: "existing",
        job: { id: "batch_1" },
      });
      expect(await add(store, "batch_3", { idempotencyKey: "k", owner: "b" })).toMatchObject({
        kind: "created",
      });
      expect((await store.findByKey("b", "k"))?.id).toBe("batch_3");
      expect(await store.findByKey("b", "other")).toBeUndefined();
    });

    law("a job beyond the quota of its owner, or of all, is not created", async (open) => {
      const store = await open();
      await add(store, "batch_1");
      const create = (own: Partial<JobQuota>, all: Partial<JobQuota>, owner = "project-a") =>
        store.create(
          newJob("batch_2", { owner }),
          { ...unlimited, ...own },
          { ...unlimited, ...all },
        );
      const refused = (quota: string, isOwn: boolean) => ({ kind: "over_quota", quota, isOwn });
      expect(await create({ jobs: 1 }, {})).toEqual(refused("jobs", true) as never);
      expect(await create({ bytes: 19 }, {})).toEqual(refused("bytes", true) as never);
      expect(await create({}, { jobs: 1 })).toEqual(refused("jobs", false) as never);
      expect(await create({}, { bytes: 19 })).toEqual(refused("bytes", false) as never);
      expect(await create({ jobs: 1, bytes: 19 }, {}, "b")).toMatchObject({ kind: "created" });
    });

    law("jobs are listed newest first, in pages, by owner and kind", async (open) => {
      const store = await open();
      for (const id of ["batch_1", "batch_2", "batch_3"]) await add(store, id);
      await add(store, "imgjob_1", { kind: "image" });
      await add(store, "batch_4", { owner: "b" });
      const ids = async (after?: string, limit = 2) =>
        (await store.list("project-a", "batch", { after, limit }))?.entries.map(({ id }) => id);
      expect(await ids()).toEqual(["batch_3", "batch_2"]);
      expect(await ids("batch_2")).toEqual(["batch_1"]);
      expect(await ids("batch_1")).toEqual([]);
      expect(await ids("batch_4")).toBeUndefined();
    });

    law(
      "a page of large jobs ends by its bytes, and the pages have every job once",
      async (open) => {
        const store = await open();
        const data = { metadata: { text: "\u0001".repeat(15_000) } };
        const ids = Array.from({ length: 30 }, (_, at) => `batch_${100 + at}`);
        for (const id of ids) await add(store, id, { data });
        const listed: string[] = [];
        const sizes: number[] = [];
        for (let after: string | undefined; ; ) {
          const page = await store.list("project-a", "batch", { after, limit: 100 });
          listed.push(...(page?.entries ?? []).map(({ id }) => id));
          sizes.push(page?.entries.length ?? 0);
          after = page?.next;
          if (after === undefined) break;
        }
        expect(listed).toEqual(ids.toReversed());
        expect(sizes).toEqual([11, 11, 8]);
        const first = await store.listAll(null, { limit: 100 });
        expect(first.entries).toHaveLength(11);
        const next = await store.listAll(null, { limit: 100, cursor: first.next });
        expect(next.entries.map(({ id }) => id)).toEqual(listed.slice(11, 22));
        // One job above the bound is a page of its own.
        const larger = { metadata: { text: "x".repeat(2_000_000) } };
        for (const id of ["batch_200", "batch_201"]) await add(store, id, { data: larger });
        const alone = await store.list("project-a", "batch", { limit: 5 });
        expect(alone).toMatchObject({ entries: [{ id: "batch_201" }], next: "batch_201" });
      },
    );

    law("two processes never claim the same range, and jobs take turns", async (open) => {
      const [one, other] = [await open(), await open()];
      await add(one, "batch_1");
      await add(one, "batch_2");
      const claims = [];
      for (let at = 0; at < 4; at++) {
        const store = at % 2 ? one : other;
        const claimed = await store.claimRange(claimOf(`p${at}`, now + 1 + at));
        claims.push(`${claimed?.job.id} ${claimed?.number}`);
      }
      expect(claims).toEqual(["batch_1 0", "batch_2 0", "batch_1 1", "batch_2 1"]);
      expect(await one.claimRange(claimOf("p"))).toBeUndefined();
      expect((await one.find("project-a", "batch_2"))?.startedAt).toBe(now + 2);
    });

    law("a claim is of one kind of work, of one API key and project", async (open) => {
      const store = await open();
      await add(store, "batch_1", { endpoint: "/v1/embeddings" });
      const imagesOnly = { ...claimOf("p"), endpoints: [images] };
      expect(await store.claimRange(imagesOnly)).toBeUndefined();
      await add(store, "batch_2", { endpoint: images });
      await add(store, "batch_3", { endpoint: images, keyId: "key_b", owner: "project-b" });
      expect((await store.claimRange(imagesOnly))?.job.id).toBe("batch_2");
      const ofOther = { ...imagesOnly, keyId: "key_b" };
      expect(await store.claimRange(ofOther)).toBeUndefined();
      const found = await store.claimRange({ ...ofOther, owner: "project-b" });
      expect(found?.job.id).toBe("batch_3");
      const embeddingsOnly = { ...claimOf("q"), endpoints: [embeddings] };
      expect((await store.claimRange(embeddingsOnly))?.job.id).toBe("batch_1");
    });

    law("the API keys whose jobs wait are listed, for each kind of work", async (open) => {
      const store = await open();
      const waiting = async (more: Partial<Work>) => {
        const work = { kind: "batch", endpoints, now, ...more } as const;
        const found = await store.listWaiting(work);
        return found.map(({ owner, keyId }) => `${owner} ${keyId}`).sort();
      };
      expect(await waiting({})).toEqual([]);
      for (let at = 0; at < 3; at++) await add(store, `batch_a${at}`);
      await add(store, "batch_b", { keyId: "key_b" });
      await add(store, "batch_c", {
        keyId: "key_c",
        owner: "project-c",
        endpoint: "/v1/images/edits",
      });
      await add(store, "batch_d", { keyId: "key_d", status: "validating", ranges: [] });
      await add(store, "imgjob_e", { keyId: "key_e", kind: "image" });
      await add(store, "batch_f", { keyId: "key_f" });
      await store.pause("project-a", "batch_f", now);
      expect(await waiting({})).toEqual(["project-a key_a", "project-a key_b"]);
      expect(await waiting({ endpoints: ["/v1/images/edits"] })).toEqual(["project-c key_c"]);
      expect(await waiting({ endpoints: null })).toEqual(["project-a key_d"]);
      expect(await waiting({ kind: "image" })).toEqual(["project-a key_e"]);
      for (let at = 0; at < 6; at++) await claim(store, `p${at}`);
      await store.claimJob({ ...jobClaimOf("q"), keyId: "key_d" });
      expect(await waiting({})).toEqual(["project-a key_b"]);
      expect(await waiting({ endpoints: null })).toEqual([]);
      const afterLeases = { now: now + 2 * minute };
      expect(await waiting(afterLeases)).toEqual(["project-a key_a", "project-a key_b"]);
      expect(await waiting({ ...afterLeases, endpoints: null })).toEqual(["project-a key_d"]);
      expect(await waiting({ ...afterLeases, exceptExpired: true })).toEqual(["project-a key_b"]);
      expect(await waiting({ ...afterLeases, exceptExpired: true, endpoints: null })).toEqual([]);
    });

    law("concurrent claims are disjoint", async (open) => {
      const stores = [await open(), await open(), await open()];
      const ranges = Array.from({ length: 9 }, (_, at) => range(at, 1));
      await add(stores[0]!, "batch_1", { ranges });
      const numbers: number[] = [];
      while (numbers.length < 9) {
        const found = await Promise.all(stores.map((store, at) => numberOf(store, `p${at}`)));
        numbers.push(...found.filter((number) => number !== undefined));
      }
      expect(numbers.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    });

    law("a range is claimed again after its lease, from the last settled line", async (open) => {
      const store = await open();
      await add(store, "batch_1");
      const { by } = await claim(store, "dead");
      expect(await store.settle(by, settled(0))).toBe(true);
      expect(await store.recordSent(by, 1, "[1]")).toBe(true);
      expect(await numberOf(store, "p", now + minute - 1)).toBe(1);
      const again = await claim(store, "p", now + minute);
      expect(again).toMatchObject({
        number: 0,
        firstLine: 0,
        settled: 1,
        attempts: 1,
        sent: 1,
        upstreamOperations: "[1]",
      });
      expect(await store.recordSent(by, 2, null)).toBe(false);
      expect(await store.settle(by, settled(1))).toBe(false);
      expect(await store.settle(again.by, settled(1, { completed: 0, failed: 1 }))).toBe(true);
      expect(await store.find("project-a", "batch_1")).toMatchObject({
        completed: 1,
        failed: 1,
        bytes: 20,
      });
    });

    law("a process that lost a claim and got it again has only the second one", async (open) => {
      const store = await open();
      await add(store, "batch_1", { ranges: [range(0, 2)] });
      const first = await claim(store, "p-1");
      const second = await claim(store, "p-2", now + minute);
      expect(await store.recordSent(first.by, 1, null)).toBe(false);
      expect(await store.settle(first.by, settled(0))).toBe(false);
      await store.releaseRange(first.by, free);
      expect((await store.renew(["p-1", "p-2"], now + 9 * minute)).map(({ id }) => id)).toEqual([
        "batch_1",
      ]);
      expect(await numberOf(store, "p-3", now + 8 * minute)).toBeUndefined();
      expect(await store.settle(second.by, settled(0))).toBe(true);
    });

    law("a job that failed is finalized when no process holds a range of it", async (open) => {
      const store = await open();
      await add(store, "batch_1");
      const [failing, running] = [await claim(store, "p"), await claim(store, "q")];
      const error = { message: "m", type: "t", param: null, code: "c", status_code: 503 };
      await store.fail("batch_1", error, now);
      await store.releaseRange(failing.by, free);
      expect(await store.claimJob(jobClaimOf("p"))).toBeUndefined();
      expect(await store.settle(running.by, settled(0))).toBe(true);
      expect(await store.claimJob(jobClaimOf("p"))).toMatchObject({ completed: 1 });
    });

    law("a job that has ended counts with the size that it still stores", async (open) => {
      const store = await open();
      await add(store, "batch_1", { ranges: [range(0, 1)] });
      const { by } = await claim(store, "p");
      await store.settle(by, settled(0));
      await store.claimJob(jobClaimOf("p"));
      const end = { status: "completed", at: now, expiresAt: now + day, bytes: 0 } as const;
      expect(await store.end("batch_1", "p", end)).toMatchObject({ bytes: 0 });
    });

    law(
      "a line is settled once, also if the call is repeated because its outcome was lost",
      async (open) => {
        const store = await open();
        await add(store, "batch_1");
        const { by } = await claim(store, "p");
        expect(await store.settle(by, settled(0))).toBe(true);
        expect(await store.settle(by, settled(0))).toBe(true);
        const other = { ...by, holder: "q", attempt: 1 };
        expect(await store.settle(other, settled(0))).toBe(false);
        expect(await store.find("project-a", "batch_1")).toMatchObject({ completed: 1 });
      },
    );

    law("a renewed lease holds, and a released range is claimed at once", async (open) => {
      const store = await open();
      await add(store, "batch_1", { ranges: [range(0, 1)] });
      const { by } = await claim(store, "p");
      expect((await store.renew(["p"], now + 2 * minute)).map(({ id }) => id)).toEqual(["batch_1"]);
      expect(await store.renew(["other"], now + 9 * minute)).toEqual([]);
      expect(await numberOf(store, "q", now + minute)).toBeUndefined();
      await store.releaseRange(by, until(now + 5));
      expect(await numberOf(store, "q", now + 4)).toBeUndefined();
      expect(await numberOf(store, "q", now + 5)).toBe(0);
      await store.releaseAll(now);
      expect(await numberOf(store, "r", now)).toBe(0);
    });

    law("a job is finalized once, after its last line, and its end is final", async (open) => {
      const store = await open();
      await add(store, "batch_1");
      const [first, second] = [await claim(store, "p"), await claim(store, "q")];
      await store.settle(first.by, settled(0, { completed: 2 }));
      expect(await store.claimJob(jobClaimOf("p"))).toBeUndefined();
      await store.settle(second.by, settled(0, { completed: 0, failed: 1, now: now + 7 }));
      const finalizing = await store.claimJob(jobClaimOf("p"));
      expect(finalizing).toMatchObject({ status: "finalizing", finalizingAt: now + 7 });
      expect(await store.claimJob(jobClaimOf("q"))).toBeUndefined();
      const end = { status: "completed", at: now + 8, expiresAt: now + day } as const;
      expect(await store.end("batch_1", "q", end)).toBeUndefined();
      const error = { message: "m", type: "t", param: null, code: "c", status_code: 400 };
      expect(await store.end("batch_1", "p", { ...end, error, data: { file: 1 } })).toMatchObject({
        status: "completed",
        endedAt: now + 8,
        completed: 2,
        failed: 1,
        error,
        data: { file: 1 },
      });
      expect(await store.end("batch_1", "p", end)).toBeUndefined();
      expect(await store.cancel("project-a", "batch_1", now)).toMatchObject({
        status: "completed",
        ending: null,
      });
    });

    law("ranges that end at the same time in two processes finalize their job", async (open) => {
      const [one, other] = [await open(), await open()];
      await add(one, "batch_1", { ranges: [range(0, 1), range(1, 1)] });
      const [first, second] = [await claim(one, "p"), await claim(other, "q")];
      await Promise.all([one.settle(first.by, settled(0)), other.settle(second.by, settled(0))]);
      expect((await one.claimJob(jobClaimOf("p")))?.completed).toBe(2);
    });

    law("a validated job starts with its ranges", async (open) => {
      const store = await open();
      await add(store, "batch_1", { status: "validating", ranges: [] });
      expect(await store.claimRange(claimOf("p"))).toBeUndefined();
      expect((await store.claimJob(jobClaimOf("p")))?.lines).toBe(0);
      expect(await store.start("batch_1", "q", [range(0, 1)], undefined, now)).toBe(false);
      const ranges = Array.from({ length: 1203 }, (_, at) => range(at * 3, 3));
      expect(await store.start("batch_1", "p", ranges, { model: "m" }, now)).toBe(true);
      expect(await store.find("project-a", "batch_1")).toMatchObject({
        status: "in_progress",
        lines: 3609,
        data: { model: "m" },
      });
      expect(await claim(store, "p")).toMatchObject({ number: 0, position: 0 });
      expect(await claim(store, "p")).toMatchObject({ number: 1, firstLine: 3, position: 300 });
    });

    law("a paused job is not claimed until it is resumed or canceled", async (open) => {
      const store = await open();
      await add(store, "batch_1");
      expect(await store.pause("project-a", "batch_1", now)).toMatchObject({ pausedAt: now });
      expect(await store.pause("b", "batch_1", null)).toBeUndefined();
      expect(await numberOf(store, "p")).toBeUndefined();
      await store.pause("project-a", "batch_1", null);
      expect(await numberOf(store, "p")).toBe(0);
      await store.pause("project-a", "batch_1", now);
      expect(await store.cancel("project-a", "batch_1", now + 1)).toMatchObject({
        ending: "cancelled",
        cancellingAt: now + 1,
        pausedAt: null,
      });
      expect(await numberOf(store, "p")).toBe(1);
    });

    law("a job after its deadline is ending, and expired jobs are listed", async (open) => {
      const store = await open();
      await add(store, "batch_1", { deadline: now, ranges: [range(0, 1)] });
      await add(store, "batch_2", { deadline: now + 1 });
      await store.expire(now);
      expect((await store.find("project-a", "batch_1"))?.ending).toBe("expired");
      expect((await store.find("project-a", "batch_2"))?.ending).toBeNull();
      expect(await store.remove("batch_1")).toBe(false);
      expect(await store.listExpired(now + 9 * day, 10)).toEqual([]);
      const { by } = await claim(store, "p");
      await store.settle(by, settled(0, { completed: 0, failed: 1 }));
      await store.claimJob(jobClaimOf("p"));
      await store.end("batch_1", "p", { status: "expired", at: now, expiresAt: now + 5 });
      expect(await store.listExpired(now + 4, 10)).toEqual([]);
      expect((await store.listExpired(now + 5, 10)).map(({ id }) => id)).toEqual(["batch_1"]);
      expect(await store.remove("batch_1")).toBe(true);
      expect(await store.find("project-a", "batch_1")).toBeUndefined();
    });

    law("a job that cannot continue is finalized with its error", async (open) => {
      const store = await open();
      await add(store, "batch_1");
      const { by } = await claim(store, "p");
      expect(await store.recordSent(by, 1, null)).toBe(true);
      expect(await store.recordSent(by, 0, null)).toBe(true);
      const error = { message: "m", type: "t", param: null, code: "c", status_code: 503 };
      await store.fail("batch_1", error, now + 1);
      expect(await numberOf(store, "q")).toBeUndefined();
      await store.releaseRange(by, free);
      expect(await store.claimJob(jobClaimOf("q"))).toMatchObject({
        status: "finalizing",
        ending: "failed",
        error,
      });
      const end = { status: "failed", at: now, expiresAt: now } as const;
      expect(await store.end("batch_1", "q", end)).toMatchObject({
        status: "failed",
        error,
        completed: 0,
        failed: 3,
      });
    });

    law("the lines of a job whose results cannot be read count as failed", async (open) => {
      const store = await open();
      await add(store, "batch_1", { ranges: [range(0, 2)] });
      const { by } = await claim(store, "p");
      await store.settle(by, settled(0, { completed: 2 }));
      await store.claimJob(jobClaimOf("p"));
      const end = { status: "failed", at: now, expiresAt: now, hasNoResults: true } as const;
      expect(await store.end("batch_1", "p", end)).toMatchObject({ completed: 0, failed: 2 });
    });

    law("a job that has ended waits for the record of its event", async (open) => {
      const store = await open();
      for (const id of ["batch_1", "batch_2"]) {
        await add(store, id, { ranges: [range(0, 1)] });
        const { by } = await claim(store, "p");
        await store.settle(by, settled(0));
        expect(await store.claimJob(jobClaimOf("p"))).toMatchObject({ id });
        await store.end(id, "p", { status: "completed", at: now, expiresAt: now + day });
      }
      const idsOf = async (limit: number) =>
        (await store.listUnannounced(limit)).map(({ id }) => id).toSorted();
      expect(await idsOf(1)).toHaveLength(1);
      expect(await idsOf(10)).toEqual(["batch_1", "batch_2"]);
      await store.setAnnounced("batch_1");
      expect(await idsOf(10)).toEqual(["batch_2"]);
    });

    law("a job that its process is still writing is claimed by no other process", async (open) => {
      const store = await open();
      const until = now + minute;
      const unfinished = {
        status: "validating",
        ranges: [],
        claim: { holder: "p", until },
      } as const;
      await add(store, "batch_1", unfinished);
      expect(await store.claimJob(jobClaimOf("q"))).toBeUndefined();
      expect(await store.start("batch_1", "p", [range(0, 1)], undefined, now)).toBe(true);
      await add(store, "batch_2", unfinished);
      expect((await store.claimJob(jobClaimOf("q", until)))?.id).toBe("batch_2");
      expect(await store.start("batch_2", "p", [range(0, 1)], undefined, now)).toBe(false);
    });

    law(
      "what a process holds is not claimed after its lease if expired leases are excepted",
      async (open) => {
        const store = await open();
        await add(store, "batch_1", { ranges: [range(0, 1), range(1, 1)] });
        await add(store, "batch_2", { status: "validating", ranges: [] });
        const { by } = await claim(store, "one");
        await store.claimJob(jobClaimOf("two"));
        const later = { ...claimOf("three", now + 2 * minute), exceptExpired: true };
        const laterJob = { ...later, endpoints: null };
        expect(await store.claimJob(laterJob)).toBeUndefined();
        expect(await store.claimRange(later)).toMatchObject({ number: 1 });
        expect(await store.claimRange(later)).toBeUndefined();
        await store.releaseRange(by, free);
        await store.releaseJob({ id: "batch_2", validations: 1 }, "two", free);
        expect(await store.claimRange(later)).toMatchObject({ number: 0 });
        expect(await store.claimJob(laterJob)).toMatchObject({ id: "batch_2" });
      },
    );

    law(
      "a job that was not accepted is deleted by its holder, and one that began is not",
      async (open) => {
        const store = await open();
        const submitted = { status: "validating", ranges: [], idempotencyKey: "k" } as const;
        const held = { ...submitted, claim: { holder: "p", until: now + minute } };
        await add(store, "imgjob_1", held);
        expect(await store.discard("imgjob_1", "q")).toBe(false);
        expect(await store.discard("imgjob_1", "p")).toBe(true);
        expect(await store.findByKey("project-a", "k")).toBeUndefined();
        expect(await add(store, "imgjob_2", held)).toMatchObject({ kind: "created" });
        await store.start("imgjob_2", "p", [range(0, 1)], undefined, now);
        expect(await store.discard("imgjob_2", "p")).toBe(false);
        expect((await store.findByKey("project-a", "k"))?.id).toBe("imgjob_2");
      },
    );

    law("a claimed job that is given back is claimed again from that time on", async (open) => {
      const store = await open();
      await add(store, "batch_1", { status: "validating", ranges: [] });
      await store.claimJob(jobClaimOf("p"));
      await store.releaseJob({ id: "batch_1", validations: 1 }, "p", until(now + 5));
      expect(await store.claimJob(jobClaimOf("q", now + 4))).toBeUndefined();
      expect((await store.claimJob(jobClaimOf("q", now + 5)))?.id).toBe("batch_1");
    });

    law(
      "every claim to validate a job counts, unless it was given back with an earlier count",
      async (open) => {
        const store = await open();
        await add(store, "batch_1", { status: "validating", ranges: [] });
        const validations = async (holder: string, at: number) =>
          (await store.claimJob(jobClaimOf(holder, at)))?.validations;
        expect(await validations("p", now)).toBe(1);
        // Its process has died, or is restarted.
        expect(await validations("q", now + minute)).toBe(2);
        await store.releaseAll(now);
        expect(await validations("r", now + minute)).toBe(3);
        await store.releaseJob({ id: "batch_1", validations: 2 }, "r", until(now + minute));
        expect(await validations("s", now + minute)).toBe(3);
        await store.start("batch_1", "s", [range(0, 1)], undefined, now);
        const { by } = await claim(store, "s", now + minute);
        await store.settle(by, settled(0));
        expect(await validations("t", now + minute)).toBe(3);
      },
    );
  });
}
