/** The clock of the database, as a replica with another clock reads it. */
import { expect, test } from "bun:test";
import { DatabaseClock } from "../../server/storage/postgres/database-clock.ts";
import { closeAfterEach } from "../clean-up.ts";
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
