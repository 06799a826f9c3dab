/** The clock of the database, as a replica with another clock reads it. */
import { expect, test } from "bun:test";
import { DatabaseClock, withMeasuredClock } from "../../server/storage/postgres/database-clock.ts";
import { createJobStore, type JobStore } from "../../server/storage/sql/job-store.ts";
import type { Work } from "../../server/storage/sql/stored-job.ts";
import { openJobDatabase } from "../../server/storage/sqlite/job-database.ts";
import { closeAfterEach } from "../clean-up.ts";
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";

const closeAfter = closeAfterEach();

test("a replica whose clock is wrong has the time of the database, also after its clock was set", async () => {
  let own = 1_000_000;
  let server = 5_000_000;
  const clock = new DatabaseClock({
    serverNow: async () => server,
    now: () => own,
    clock: () => 0,
    everyMs: 5,
  });
  closeAfter(clock);
  await clock.start();
  expect(clock.now()).toBe(5_000_000);
  own += 1000;
  server += 1000;
  expect(clock.now()).toBe(5_001_000);
  own -= 86_400_000;
  await until(() => clock.now() === 5_001_000);
});

test("while the database is unreachable, the last offset counts", async () => {
  let isReachable = false;
  const clock = new DatabaseClock({
    serverNow: async () => {
      if (!isReachable) throw new Error("unreachable");
      return 9000;
    },
    now: () => 1000,
    clock: () => 0,
    everyMs: 5,
  });
  closeAfter(clock);
  await clock.start();
  expect(clock.now()).toBe(1000);
  isReachable = true;
  await until(() => clock.now() === 9000);
  isReachable = false;
  await Bun.sleep(20);
  expect(clock.now()).toBe(9000);
});

test("a difference within the round trip of the measurement is no offset", async () => {
  let elapsed = 0;
  const clock = new DatabaseClock({
    serverNow: async () => {
      elapsed += 40;
      return 1010;
    },
    now: () => 1000,
    clock: () => elapsed,
  });
  closeAfter(clock);
  await clock.start();
  expect(clock.now()).toBe(1000);
});

test("a replica a day ahead that starts without the database ends no job of the others", async () => {
  using folder = temporaryFolder();
  const [server, day] = [1_000_000_000, 86_400_000];
  let isReachable = false;
  const clock = new DatabaseClock({
    serverNow: async () => {
      if (!isReachable) throw new Error("unreachable");
      return server;
    },
    now: () => server + day,
    clock: () => 0,
    everyMs: 5,
  });
  closeAfter(clock);
  await clock.start();
  const db = openJobDatabase(folder.path, () => server);
  closeAfter(db);
  const jobs = withMeasuredClock(createJobStore(db), clock);
  const quota = { jobs: 10, bytes: 1e9 };
  const create = (id: string, deadline: number) =>
    jobs.create(
      {
        id,
        kind: "batch",
        endpoint: "/v1/embeddings",
        owner: "project:a",
        keyId: "key_a",
        status: "in_progress",
        bytes: 0,
        data: {},
        ranges: [{ firstLine: 0, lines: 1, position: 0 }],
        createdAt: server - day,
        deadline,
        expiresAt: deadline,
      },
      quota,
      quota,
    );
  await create("batch_open", server + 1000);
  await create("batch_late", server - 1000);
  const endings = async () => {
    await jobs.expire(clock.now());
    const find = async (id: string) => (await jobs.find("project:a", id))?.ending;
    return [await find("batch_open"), await find("batch_late")];
  };
  expect(await endings()).toEqual([null, null]);
  isReachable = true;
  await until(() => clock.isMeasured);
  expect(await endings()).toEqual([null, "expired"]);
});

test("a replica a day ahead that starts without the database claims and deletes no job of the others", async () => {
  const lists = ["listWaiting", "listExpired", "listUncleaned"] as const;
  const store = Object.fromEntries(lists.map((name) => [name, async () => [{}]]));
  const listed = async (isMeasured: boolean) => {
    const jobs = withMeasuredClock(store as unknown as JobStore, { isMeasured });
    const found = await Promise.all([
      jobs.listWaiting({} as Work),
      jobs.listExpired(0, 1),
      jobs.listUncleaned(0, 1),
    ]);
    return found.flat().length;
  };
  expect(await listed(false)).toBe(0);
  expect(await listed(true)).toBe(3);
});
