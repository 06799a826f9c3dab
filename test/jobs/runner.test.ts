/** The runner of jobs, with lines that a test scripts: shared ranges, lost processes, retries and failures. */
import { expect, test } from "bun:test";
import { type JobKind, type JobLine, jobErrorOf } from "../../server/jobs/job-kind.ts";
import type { JobControl } from "../../server/jobs/line-attempts.ts";
import { LineAttempts } from "../../server/jobs/line-attempts.ts";
import type { RunLine } from "../../server/jobs/line-request.ts";
import { JobRunner } from "../../server/jobs/runner.ts";
import { ByteTurns } from "../../server/lib/byte-turns.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { realTimers } from "../../server/lib/timers.ts";
import type { Caller } from "../../server/request/caller.ts";
import { toErrorResponse } from "../../server/request/error-response.ts";
import { StoredFiles } from "../../server/storage/files/stored-files.ts";
import { createJobStore, type JobStore } from "../../server/storage/sql/job-store.ts";
import type { ClaimedRange, StoredJob } from "../../server/storage/sql/stored-job.ts";
import { openJobDatabase } from "../../server/storage/sqlite/job-database.ts";
import { temporaryFolder } from "../harness.ts";
import { mayMount, mountTmpfs } from "../storage/small-disk.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";
import { until } from "../until.ts";

const minute = 60_000;
const inFlightMs = 10 * minute;
const caller = {} as Caller;

/** A store and a data folder, and processes that run its jobs. */
function startWorld({
  lines = 1000,
  perRange = 50,
  operation = "embeddings" as JobLine["operation"],
  /** Where the results are. */
  resultFolder = undefined as string | undefined,
} = {}) {
  const folder = temporaryFolder();
  const db = openJobDatabase(folder.path, Date.now);
  let passedMs = 0;
  const now = (): number => Date.now() + passedMs;
  const store = createJobStore(db);
  let hasSpace = true;
  const disk = { ...unlimitedDisk, hasSpace: () => hasSpace };
  const files = new StoredFiles({ folder: resultFolder ?? folder.path, disk, now: Date.now });
  const ended: StoredJob[] = [];
  const errors: { readonly event: string; readonly fields: object }[] = [];
  /** The jobs whose event is recorded, or undefined if it cannot be. */
  let announced: string[] | undefined = [];
  /** The output and error lines of the job, when it ended. */
  let results = { output: "", error: "" };
  let hasInput = true;
  const stops: (() => Promise<void>)[] = [];
  async function* linesOf({ firstLine, settled, lines: count }: ClaimedRange) {
    if (!hasInput) throw new GatewayError("job_input_missing", "The file is gone.");
    for (let line = firstLine + settled; line < firstLine + count; line++)
      yield { operation, body: { input: String(line) }, publicUrl: "", customId: String(line) };
  }
  const kind: { -readonly [Name in keyof JobKind]: JobKind[Name] } = {
    name: "batch",
    ranges: [{ endpoints: ["/v1/embeddings"], max: 8 }],
    priority: "batch",
    open: async (held) => {
      if (!(await held.record({ vendorBatch: "{}" }))) return { kind: "stopped" };
      return { lines: linesOf(held.range) };
    },
    format: async function* ({ customId }, result) {
      const code = result.kind === "none" ? jobErrorOf(result.error).code : result.status;
      const more = resultFolder === undefined ? "" : ` ${"x".repeat(10_000)}`;
      yield Buffer.from(`${customId} ${code}${more}\n`);
    },
    inFlightMs,
    notRun: () => new GatewayError("job_cancelled", "It was canceled."),
    finish: async ({ ending }, segments) => {
      const text = async (name: "output" | "error") => {
        let all = "";
        for await (const chunk of segments.read(name)) all += Buffer.from(chunk).toString();
        return all;
      };
      results = { output: await text("output"), error: await text("error") };
      if (resultFolder !== undefined) await files.write("output", [Buffer.from(results.output)]);
      return { status: ending ?? "completed" };
    },
  };
  return {
    store,
    files,
    ended,
    /** What the log has at the level `error`. */
    errors,
    results: () => results,
    announced: () => announced,
    breakEvents: (isBroken: boolean) => {
      announced = isBroken ? undefined : [];
    },
    pass: (ms: number) => {
      passedMs += ms;
    },
    fillDisk: () => {
      hasSpace = false;
    },
    kind,
    openWith: (open: JobKind["open"]) => {
      kind.open = open;
    },
    linesOf,
    /** The job is validated. */
    prepareWith: (prepare: NonNullable<JobKind["prepare"]>) => {
      kind.prepare = prepare;
    },
    removeInput: () => {
      hasInput = false;
    },
    submit: async (status: "in_progress" | "validating" = "in_progress") => {
      const ranges = Array.from({ length: Math.ceil(lines / perRange) }, (_, at) => ({
        firstLine: at * perRange,
        lines: Math.min(perRange, lines - at * perRange),
        position: 0,
      }));
      const quota = { jobs: 10, bytes: 1e9 };
      const at = Date.now();
      const times = { createdAt: at, deadline: at + minute, expiresAt: at + 2 * minute };
      const owner = "project:a";
      await store.create(
        {
          id: "batch_1",
          kind: "batch",
          endpoint: "/v1/embeddings",
          owner,
          keyId: "key_a",
          status,
          bytes: 0,
          data: {},
          ranges: status === "validating" ? [] : ranges,
          ...times,
        },
        quota,
        quota,
      );
    },
    /** Starts a process. `claims`: what it sees of the store. */
    start: (holder: string, runLine: RunLine, claims: JobStore = store, key = () => caller) => {
      const controls = new Map<string, JobControl>();
      const stopping = new AbortController();
      const attempts = new LineAttempts({
        store: claims,
        secrets: { encrypt: (text) => text, decrypt: (text) => text },
        runLine,
        callerOf: key,
        payerOf: key,
        controlOf: (id) => controls.get(id) as JobControl,
        reservations: { release: () => undefined },
        stopping: stopping.signal,
        now,
      });
      const runner = new JobRunner({
        store: claims,
        files,
        attempts,
        pace: async () => undefined,
        kinds: [kind],
        holder,
        byteTurns: new ByteTurns(() => 0),
        timers: { ...realTimers, start: (_, fire) => setTimeout(fire, 1) },
        ttlMs: () => minute,
        controls,
        stopping: stopping.signal,
        onCharged: () => undefined,
        onEnded: (job) => void ended.push(job),
        recordEvent: async ({ id }) => {
          if (!announced) throw new Error("The events cannot be written.");
          announced.push(id);
        },
        log: {
          warn: () => undefined,
          error: (event, fields = {}) => void errors.push({ event, fields }),
        },
        now,
      });
      runner.start();
      const stop = async (): Promise<void> => {
        stopping.abort();
        await runner.close();
      };
      stops.push(stop);
      return {
        stop,
        sweep: () => runner.sweep(),
        renew: () => runner.renew(),
        wake: () => runner.wake(),
      };
    },
    [Symbol.asyncDispose]: async () => {
      for (const stop of stops) await stop();
      await db.close();
      folder[Symbol.dispose]();
    },
  };
}

const ok: RunLine = async () => ({ status: 200, headers: {}, body: "{}" });

const numbersIn = (text: string): number[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => Number(line.split(" ")[0]));

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

test("a database that fails while the batch of a vendor is recorded delays the job, and does not fail it", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  let failures = 1;
  await world.submit();
  world.start("a", ok, {
    ...world.store,
    recordState: async (...recorded) => {
      if (failures-- > 0) throw new Error("The database was restarted.");
      return world.store.recordState(...recorded);
    },
  });
  await until(() => failures < 1);
  world.pass(minute / 4);
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "completed", completed: 10, failed: 0 }]);
});

test("the paid results of a vendor are delivered after the deadline, although the database and the storage fail", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  await world.submit();
  world.pass(2 * minute);
  await world.store.expire(Date.now() + 2 * minute);
  const failures = { record: 1, list: 1 };
  const { files } = world;
  const list = files.list.bind(files);
  files.list = async (folder) => {
    if (failures.list-- > 0) throw new GatewayError("storage_unavailable", "The store is down.");
    return list(folder);
  };
  world.openWith(async (held) => {
    if (!(await held.record({ phase: "delivering" }))) return { kind: "stopped" };
    const vendor = { priceFactor: 1 } as NonNullable<JobLine["vendor"]>;
    async function* delivered() {
      for await (const line of world.linesOf(held.range)) yield { ...line, vendor };
    }
    return { lines: delivered() };
  });
  const { wake } = world.start("a", ok, {
    ...world.store,
    recordState: async (...recorded) => {
      const isRecorded = await world.store.recordState(...recorded);
      if (failures.record-- > 0) throw new Error("The database was restarted.");
      return isRecorded;
    },
  });
  await until(() => {
    world.pass(1000);
    wake();
    return world.ended.length > 0;
  });
  expect(failures.list).toBeLessThan(1);
  expect(world.ended).toMatchObject([{ status: "expired", completed: 10, failed: 0 }]);
});

test("a poll of a vendor's batch does not list the stored results", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  await world.submit();
  let [polls, lists] = [0, 0];
  world.files.list = async () => {
    lists++;
    return [];
  };
  world.openWith(async (held) => {
    polls++;
    if (!(await held.record({ phase: "created" }))) return { kind: "stopped" };
    return { kind: "waits", wait: { until: 0, error: null } };
  });
  world.start("a", ok);
  await until(() => polls >= 3);
  expect(lists).toBe(0);
});

test("a bug that fails a job is in the log with its stack trace", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  await world.submit();
  world.openWith(async () => {
    throw new TypeError("A bug.");
  });
  world.start("a", ok);
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "failed" }]);
  const error = expect.stringMatching(/^TypeError: A bug\.\n +at /);
  expect(world.errors).toEqual([{ event: "internal-error", fields: { job: "batch_1", error } }]);
});

test("a validation that fails for an unknown reason is tried three times, and then fails its job", async () => {
  await using world = startWorld();
  let attempts = 0;
  world.prepareWith(async () => {
    attempts++;
    throw new TypeError("A bug.");
  });
  await world.submit("validating");
  const { wake } = world.start("a", ok);
  await until(() => {
    world.pass(5000);
    wake();
    return world.ended.length > 0;
  });
  expect(attempts).toBe(3);
  expect(world.ended).toMatchObject([{ status: "failed", error: { code: "job_not_validated" } }]);
});

test("a validation without storage is tried until there is storage", async () => {
  await using world = startWorld();
  let attempts = 0;
  world.prepareWith(async () => {
    if (++attempts < 5) throw new GatewayError("storage_unavailable", "The store is down.");
    return { ranges: [{ firstLine: 0, lines: 1, position: 0 }] };
  });
  await world.submit("validating");
  const { wake } = world.start("a", ok);
  await until(() => {
    world.pass(attempts < 5 ? 1000 : 0);
    wake();
    return world.ended.length > 0;
  });
  expect(attempts).toBe(5);
  expect(world.ended).toMatchObject([{ status: "completed", completed: 1 }]);
});

/** An image that an upstream without a queue generates. It is billed when it is sent. */
function slowImage() {
  const sent = Promise.withResolvers<void>();
  const done = Promise.withResolvers<void>();
  const runLine: RunLine = async ({ context }) => {
    await context.beforeSend();
    sent.resolve();
    await done.promise;
    return { status: 200, headers: {}, body: "{}" };
  };
  return { runLine, sent: sent.promise, finish: () => done.resolve() };
}

/** What one process sees of the store: a database that may fail, and how often the process has looked for ranges. */
function unreliable(store: JobStore) {
  const state = { isDown: false, looks: 0 };
  const check = (): void => {
    if (state.isDown) throw new Error("The database is not available.");
  };
  const seen: JobStore = {
    ...store,
    listWaiting: async (work) => {
      check();
      const waiting = await store.listWaiting(work);
      if (work.endpoints) state.looks++;
      return waiting;
    },
    renew: async (...leases) => {
      check();
      return store.renew(...leases);
    },
    settle: async (...lines) => {
      check();
      return store.settle(...lines);
    },
    expire: async (at) => {
      check();
      return store.expire(at);
    },
  };
  return { state, store: seen };
}

test("an image in flight is delivered after an outage of the database that is longer than a lease", async () => {
  await using world = startWorld({ lines: 1, operation: "generations" });
  await world.submit();
  const image = slowImage();
  const [own, other] = [unreliable(world.store), unreliable(world.store)];
  const replicas = [
    { ...own, ...world.start("a", image.runLine, own.store) },
    { ...other, ...world.start("b", image.runLine, other.store) },
  ];
  await image.sent;
  for (const { state } of replicas) state.isDown = true;
  world.pass(minute / 2);
  for (const { renew } of replicas) await expect(renew()).rejects.toThrow("not available");
  for (const { state, wake } of replicas) {
    Object.assign(state, { isDown: false, looks: 0 });
    wake();
  }
  // Before the process renews its lease, and after the other one has renewed its own.
  await until(() => replicas.every(({ state }) => state.looks > 0));
  for (const { state, renew, wake } of replicas) {
    await renew();
    state.looks = 0;
    wake();
  }
  await until(() => replicas.every(({ state }) => state.looks > 0));
  image.finish();
  await until(() => world.ended.length > 0);
  expect(world.results()).toEqual({ output: "0 200\n", error: "" });
  expect(world.ended).toMatchObject([{ status: "completed", completed: 1, failed: 0 }]);
});

test("an image that is done while the database is not available is delivered", async () => {
  await using world = startWorld({ lines: 1, operation: "generations" });
  await world.submit();
  const image = slowImage();
  let failures = 3;
  world.start("a", image.runLine, {
    ...world.store,
    settle: async (...lines) => {
      if (failures-- > 0) throw new Error("The database is not available.");
      return world.store.settle(...lines);
    },
  });
  image.finish();
  await until(() => world.ended.length > 0);
  expect(world.results()).toEqual({ output: "0 200\n", error: "" });
});

test("an image whose settlement the database confirms too late is delivered", async () => {
  await using world = startWorld({ lines: 2, operation: "generations" });
  await world.submit();
  let failures = 1;
  world.start("a", ok, {
    ...world.store,
    settle: async (...lines) => {
      const isSettled = await world.store.settle(...lines);
      if (failures-- > 0) throw new Error("The connection was closed.");
      return isSettled;
    },
  });
  await until(() => world.ended.length > 0);
  expect(world.results()).toEqual({ output: "0 200\n1 200\n", error: "" });
});

test("the ranges of a process that died are claimed once the database was available for a lease", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  await world.submit();
  const at = Date.now();
  const job = { kind: "batch", owner: "project:a", keyId: "key_a" } as const;
  const times = { now: at, until: at + minute / 3 };
  const dead = { ...job, ...times, endpoints: ["/v1/embeddings"], holder: "dead" };
  expect(await world.store.claimRange(dead)).toBeDefined();
  world.pass(minute / 2);
  const { state, store } = unreliable(world.store);
  const { renew, wake } = world.start("next", ok, store);
  await until(() => state.looks > 0);
  expect(await world.store.find("project:a", "batch_1")).toMatchObject({ completed: 0 });
  for (let renewals = 0; renewals < 4; renewals++) {
    world.pass(minute / 12);
    await renew();
  }
  wake();
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "completed", completed: 10 }]);
});

test("two processes share one job, and every line is in the output once and in order", async () => {
  await using world = startWorld();
  const served = new Map<string, number>();
  const counting =
    (holder: string): RunLine =>
    async () => {
      served.set(holder, (served.get(holder) ?? 0) + 1);
      await Bun.sleep(1);
      return { status: 200, headers: {}, body: "{}" };
    };
  await world.submit();
  world.start("a", counting("a"));
  world.start("b", counting("b"));
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "completed", completed: 1000, failed: 0 }]);
  expect(numbersIn(world.results().output)).toEqual(upTo(1000));
  expect([...served.keys()].sort()).toEqual(["a", "b"]);
});

test("the ranges of a lost process go on elsewhere, and no line is missing or twice in the output", async () => {
  await using world = startWorld();
  await world.submit();
  let sent = 0;
  // It loses its connection to the store in the middle: it neither settles nor gives a range back.
  const lost: JobStore = {
    ...world.store,
    settle: async (claim, lines) =>
      sent > 300 ? Promise.reject(new Error("lost")) : world.store.settle(claim, lines),
    fail: async () => undefined,
    releaseRange: async () => undefined,
  };
  const first = world.start(
    "lost",
    async () => {
      sent++;
      return { status: 200, headers: {}, body: "{}" };
    },
    lost,
  );
  await until(() => sent > 500);
  await first.stop();
  await world.store.releaseAll(Date.now());
  world.start("next", ok);
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "completed", completed: 1000 }]);
  expect(numbersIn(world.results().output)).toEqual(upTo(1000));
});

test("lines whose results the database does not settle are not sent again at once", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  await world.submit();
  const delaysMs: number[] = [];
  const failing: JobStore = {
    ...world.store,
    settle: async () => Promise.reject(new Error("no such column")),
    releaseRange: async (claim, wait) => {
      if (wait) delaysMs.push(wait.until - Date.now());
      await world.store.releaseRange(claim, wait);
    },
  };
  world.start("a", ok, failing);
  await until(() => delaysMs.length > 0);
  expect(delaysMs[0]).toBeGreaterThan(1000);
});

test("a line that a limit refuses is tried again until it succeeds", async () => {
  await using world = startWorld({ lines: 20, perRange: 10 });
  await world.submit();
  let refusals = 5;
  const limit = new GatewayError("rate_limited", "Too many.", { retryAfterMs: 1 });
  world.start("a", (request, key) =>
    refusals-- > 0 ? Promise.resolve(toErrorResponse(limit)) : ok(request, key),
  );
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ completed: 20, failed: 0 }]);
});

test("a job whose lines wait for a limit shows the error and the next attempt", async () => {
  await using world = startWorld({ lines: 2, perRange: 2 });
  await world.submit();
  const limit = new GatewayError("rate_limited", "Too many.", { retryAfterMs: 30_000 });
  let isOver = false;
  const { wake } = world.start("a", async (request, key) => {
    if (isOver) return ok(request, key);
    request.context.requestEnded(undefined, { code: limit.kind, message: limit.message });
    return toErrorResponse(limit);
  });
  const shown = async () => (await world.store.find("project:a", "batch_1"))?.waiting;
  await until(async () => (await shown()) !== null);
  const waiting = await shown();
  expect(waiting?.error).toEqual({ code: "rate_limited", message: "Too many." });
  expect(waiting?.until).toBeGreaterThan(Date.now() + 20_000);
  isOver = true;
  wake();
});

test("the errors of the lines of a job are counted by their kind", async () => {
  await using world = startWorld({ lines: 20, perRange: 10 });
  await world.submit();
  world.start("a", async ({ context, line }) => {
    const kind = Number(line.customId) < 13 ? "model_not_found" : "invalid_value";
    const error = new GatewayError(kind, `It is ${kind}.`);
    context.requestEnded(undefined, { code: kind, message: error.message });
    return toErrorResponse(error);
  });
  await until(() => world.ended.length > 0);
  const counts = world.ended[0]?.lineErrors.toSorted((a, b) => b.count - a.count);
  expect(counts).toEqual([
    { code: "model_not_found", message: "It is model_not_found.", count: 13 },
    { code: "invalid_value", message: "It is invalid_value.", count: 7 },
  ]);
});

test("lines of a revoked key fail with `invalid_api_key`", async () => {
  await using world = startWorld({ lines: 20, perRange: 10 });
  await world.submit();
  world.start("a", ok, world.store, () => {
    throw new GatewayError("invalid_api_key", "The API key of the job was revoked.");
  });
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "completed", completed: 0, failed: 20 }]);
  expect(world.results().error).toStartWith("0 invalid_api_key\n1 invalid_api_key\n");
});

test("lines of a deleted model fail with its error", async () => {
  await using world = startWorld({ lines: 20, perRange: 10 });
  await world.submit();
  const gone = toErrorResponse(new GatewayError("model_not_found", "There is no such model."));
  world.start("a", async () => gone);
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ completed: 0, failed: 20 }]);
  expect(world.results().error).toStartWith("0 404\n");
});

test("a job whose input is gone fails with that reason", async () => {
  await using world = startWorld();
  await world.submit();
  world.removeInput();
  world.start("a", ok);
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([
    { status: "failed", error: { code: "job_input_missing", message: "The file is gone." } },
  ]);
});

test("a job whose input is gone ends after its lines in flight, and keeps their results", async () => {
  await using world = startWorld({ lines: 6, perRange: 1 });
  await world.submit();
  const inFlight = Promise.withResolvers<void>();
  world.start("a", async (request, ...others) => {
    if (request.line.customId === "0") await inFlight.promise;
    world.removeInput();
    return ok(request, ...others);
  });
  await until(
    async () => (await world.store.find("project:a", "batch_1"))?.status === "finalizing",
  );
  inFlight.resolve();
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "failed" }]);
  const output = numbersIn(world.results().output);
  expect(output).toContain(0);
  expect(world.ended[0]?.completed).toBe(output.length);
});

test("the results of a vendor that cannot be stored for a while are delivered again", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  await world.submit();
  world.openWith(async (held) => {
    if (!(await held.record({ phase: "delivering" }))) return { kind: "stopped" };
    const vendor = { priceFactor: 1 } as NonNullable<JobLine["vendor"]>;
    async function* delivered() {
      for await (const line of world.linesOf(held.range)) yield { ...line, vendor };
    }
    return { lines: delivered() };
  });
  // More often than it is tried at once.
  let failures = 40;
  const { files } = world;
  const write = files.write.bind(files);
  files.write = async (name, chunks) => {
    if (name.endsWith(".output") && failures-- > 0)
      throw new GatewayError("storage_unavailable", "The store is down.");
    return write(name, chunks);
  };
  const { wake } = world.start("a", ok);
  await until(() => {
    if (failures < 20) world.pass(1000);
    wake();
    return world.ended.length > 0;
  });
  expect(failures).toBeLessThan(0);
  expect(world.ended).toMatchObject([{ completed: 10, failed: 0 }]);
});

test("a job whose results do not fit on the disk fails with that reason", async () => {
  await using world = startWorld();
  await world.submit();
  world.fillDisk();
  world.start("a", ok);
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([
    {
      status: "failed",
      error: {
        ...{ code: "storage_unavailable", status_code: 503 },
        message: expect.stringContaining("for a minute"),
      },
      lines: 1000,
      completed: 0,
      failed: 1000,
    },
  ]);
});

test("a job that fails while the storage is away ends after what a vendor may bill of it is charged", async () => {
  await using world = startWorld({ lines: 2, perRange: 1 });
  const charged: number[] = [];
  const cleaned: number[] = [];
  let isAway = true;
  const sent = Promise.withResolvers<void>();
  world.kind.chargeRest = async ({ number }) => {
    if (isAway) throw new GatewayError("storage_unavailable", "The store is down.");
    charged.push(number);
    return 0.25;
  };
  world.kind.cleanUp = async ({ number }) => {
    cleaned.push(number);
    return true;
  };
  world.openWith(async (held) => {
    if (held.range.number === 1) {
      await sent.promise;
      return { kind: "failed", error: new GatewayError("job_input_missing", "The file is gone.") };
    }
    await held.record({ phase: "created", vendorBatch: "{}" });
    sent.resolve();
    return { kind: "waits", wait: { until: 0, error: null } };
  });
  await world.submit();
  world.start("a", ok);
  await until(() => cleaned.includes(0));
  for (let passed = 0; passed < 4; passed++) {
    world.pass(5 * minute);
    await Bun.sleep(1100);
  }
  expect(world.ended).toEqual([]);
  isAway = false;
  world.pass(5 * minute);
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([
    { status: "failed", cost: 0.25, error: { code: "job_input_missing" } },
  ]);
  expect(charged).toEqual([0]);
  await until(async () => (await world.store.listUncleaned(Date.now() * 2, 10)).length === 0);
});

if (mayMount()) {
  test("a job whose results fill the disk ends, also if there is no space to join them", async () => {
    using folder = temporaryFolder();
    using mounted = new DisposableStack();
    mounted.defer(mountTmpfs(folder.path, "2m"));
    await using world = startWorld({ resultFolder: folder.path });
    await world.submit();
    world.start("a", ok);
    const isFinalizing = async () =>
      (await world.store.find("project:a", "batch_1"))?.status === "finalizing";
    await until(isFinalizing);
    // There may be space soon, so it is tried again for a while.
    expect(world.ended).toEqual([]);
    world.pass(11 * minute);
    await until(() => world.ended.length > 0);
    expect(world.ended).toMatchObject([
      { status: "failed", error: { code: "storage_unavailable" }, completed: 0, failed: 1000 },
    ]);
  });
}

test("the event of a job is recorded by the next process if its own died after the job had ended", async () => {
  await using world = startWorld({ lines: 10 });
  await world.submit();
  world.breakEvents(true);
  const first = world.start("a", ok);
  await until(() => world.ended.length > 0);
  await first.stop();
  world.breakEvents(false);
  const next = world.start("b", ok);
  await until(() => world.announced()?.length === 1);
  await until(async () => (await world.store.listUnannounced(10)).length === 0);
  await next.sweep();
  expect(world.announced()).toEqual(["batch_1"]);
});

test("an event that cannot be recorded when its job ends is recorded later", async () => {
  await using world = startWorld({ lines: 10 });
  await world.submit();
  world.breakEvents(true);
  const { sweep } = world.start("a", ok);
  await until(() => world.ended.length > 0);
  await expect(sweep()).rejects.toThrow("cannot be written");
  world.breakEvents(false);
  await sweep();
  expect(world.announced()).toEqual(["batch_1"]);
});

test("a canceled job keeps its results, and its other lines end without running", async () => {
  await using world = startWorld();
  await world.submit();
  let sent = 0;
  world.start("a", async (request, key) => {
    sent++;
    if (sent > 100) await Bun.sleep(20);
    return ok(request, key);
  });
  await until(() => sent > 100);
  await world.store.cancel("project:a", "batch_1", Date.now());
  await until(() => world.ended.length > 0);
  const [job] = world.ended;
  expect(job).toMatchObject({ status: "cancelled", lines: 1000 });
  expect((job?.completed ?? 0) + (job?.failed ?? 0)).toBe(1000);
  const { output, error } = world.results();
  expect(numbersIn(output + error).toSorted((a, b) => a - b)).toEqual(upTo(1000));
  expect(error).toContain("job_cancelled");
});

test("an image in flight is aborted ten minutes after its job was canceled, and may have been billed", async () => {
  await using world = startWorld({ lines: 2, operation: "generations" });
  await world.submit();
  const sent = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  let calls = 0;
  const { renew } = world.start("a", async ({ context, signal }) => {
    calls++;
    await context.beforeSend();
    sent.resolve();
    signal.addEventListener("abort", () => aborted.resolve());
    await aborted.promise;
    return toErrorResponse(new GatewayError("client_closed", "The client closed the connection."));
  });
  await sent.promise;
  await world.store.cancel("project:a", "batch_1", Date.now());
  world.pass(inFlightMs - minute / 2);
  await renew();
  expect(world.ended).toEqual([]);
  expect(await Promise.race([aborted.promise, Bun.sleep(20).then(() => "in flight")])).toBe(
    "in flight",
  );
  world.pass(minute);
  await renew();
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "cancelled", completed: 0, failed: 2 }]);
  expect(world.results()).toEqual({ output: "", error: "0 job_cancelled\n1 job_cancelled\n" });
  expect(calls).toBe(1);
});

test("an image that waits for its turn when its job is canceled is never sent", async () => {
  await using world = startWorld({ lines: 1, operation: "generations" });
  await world.submit();
  const waiting = Promise.withResolvers<void>();
  let sent = 0;
  const { renew } = world.start("a", async ({ context, signal }) => {
    waiting.resolve();
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await context.beforeSend().then(
      () => sent++,
      () => undefined,
    );
    return toErrorResponse(new GatewayError("client_closed", "The client closed the connection."));
  });
  await waiting.promise;
  await world.store.cancel("project:a", "batch_1", Date.now());
  await renew();
  await until(() => world.ended.length > 0);
  expect(world.ended).toMatchObject([{ status: "cancelled", failed: 1 }]);
  expect(sent).toBe(0);
});

test("when a process stops, results of embedding lines in flight are kept, and not paid for again", async () => {
  await using world = startWorld({ lines: 10, perRange: 10 });
  await world.submit();
  const sent: (string | undefined)[] = [];
  const response = Promise.withResolvers<void>();
  const limit = new GatewayError("rate_limited", "Too many.", { retryAfterMs: 60_000 });
  const first = world.start("a", async ({ line }) => {
    sent.push(line.customId);
    if (line.customId === "9") return toErrorResponse(limit);
    await response.promise;
    return { status: 200, headers: {}, body: "{}" };
  });
  await until(() => sent.length === 10);
  // Line 9 waits for the limit, so it ends at once.
  const stopped = first.stop();
  await Bun.sleep(10);
  response.resolve();
  await stopped;
  expect(await world.store.findById("batch_1")).toMatchObject({ completed: 9, failed: 0 });
  world.start("b", async ({ line }) => {
    sent.push(line.customId);
    return { status: 200, headers: {}, body: "{}" };
  });
  await until(() => world.ended.length > 0);
  expect(numbersIn(world.results().output)).toEqual(upTo(10));
  expect(sent.map(Number)).toEqual([...upTo(10), 9]);
});

test("a vendor's result that is delivered again counts once in the cost of its batch", async () => {
  await using world = startWorld({ lines: 3, perRange: 3 });
  await world.submit();
  world.openWith(async (held) => {
    if (!(await held.record({ phase: "delivering" }))) return { kind: "stopped" };
    const vendor = { priceFactor: 0.5 } as NonNullable<JobLine["vendor"]>;
    async function* delivered() {
      for await (const line of world.linesOf(held.range)) yield { ...line, vendor };
    }
    return { lines: delivered() };
  });
  const delivered: (string | undefined)[] = [];
  const deliver: RunLine = async ({ line, context }) => {
    delivered.push(line.customId);
    context.requestEnded(1, undefined);
    return { status: 200, headers: {}, body: "{}" };
  };
  const limit = new GatewayError("rate_limited", "Too many.", { retryAfterMs: 60_000 });
  const first = world.start("a", async (request, caller) =>
    request.line.customId === "1" ? toErrorResponse(limit) : deliver(request, caller),
  );
  await until(() => delivered.length === 2);
  // Line 1 waits, so the result of line 2 is not stored.
  await first.stop();
  world.start("b", deliver);
  await until(() => world.ended.length > 0);
  expect(delivered).toEqual(["0", "2", "1", "2"]);
  expect(world.ended).toMatchObject([{ completed: 3, cost: 3, listCost: 6 }]);
});

test("a job whose request was never stored is deleted by the next process, with what was stored of it", async () => {
  await using world = startWorld({ lines: 0 });
  await world.files.write("jobs/batch_1/file-0", [Buffer.from("an image")], "upload");
  await world.submit("validating");
  world.start("next", ok);
  await until(async () => !(await world.store.findById("batch_1")));
  expect(await world.files.list("jobs/batch_1")).toEqual([]);
  expect(world.ended).toEqual([]);
});

test("a paused job begins no line until it is resumed", async () => {
  await using world = startWorld({ lines: 200, perRange: 50 });
  await world.submit();
  await world.store.pause("project:a", "batch_1", Date.now());
  let sent = 0;
  world.start("a", async (request, key) => {
    sent++;
    return ok(request, key);
  });
  await Bun.sleep(50);
  expect(sent).toBe(0);
  await world.store.pause("project:a", "batch_1", null);
  await until(() => world.ended.length > 0);
  expect(sent).toBe(200);
});
