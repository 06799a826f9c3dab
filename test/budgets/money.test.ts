/**
 * The law of money, in one process and in virtual time: random programs of requests and jobs, with calls that are lost,
 * late or repeated, replicas that are killed, and Redis and the database away, flushed or failed over. A failure names
 * its seed, which does the same again.
 */
import { expect, test } from "bun:test";
import { periodNames } from "../../contract/budget-periods.ts";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { toDollars, toNanos } from "../../server/lib/nano-dollars.ts";
import { nanosOf, spendKey, spendKeysOf } from "../../server/storage/sql/spend-tally.ts";
import { budgeted } from "./budgets-fixture.ts";
import { Simulation, type Topology } from "./simulation/simulation.ts";

const topologies: readonly (readonly [Topology, number])[] = [
  ["sqlite", 1],
  ["postgres", 1],
  ["postgres", 3],
  ["replicas", 3],
  ["replicas", 2],
];

/** What happens in a program beside requests. */
const programs = [
  "calm",
  "bad network",
  "kills",
  "database away",
  "Redis away",
  "flush",
  "failover",
  "everything",
];
/** What replicas do not know of each other for this long after Redis was away, flushed or failed over. */
const unknownMs = 2000;

const runMs = 5000;
/** Longer than leases and renewals; and where calls are late or data are lost, until amounts are sent again. */
const [quietMs, longQuietMs] = [6000, 14_000];

class Program {
  readonly simulation: Simulation;
  readonly kind: string;
  readonly keys: readonly BudgetedOwner[];
  readonly project: BudgetedOwner;
  /** What each budget has admitted, by the law's own account: charged, and in flight. */
  readonly used = new Map<string, number>();
  /** What was admitted while Redis was away, or had lost data. */
  readonly weak = new Map<string, number>();
  #weakUntil = 0;
  readonly problems: string[] = [];

  constructor(seed: number, [topology, replicas]: readonly [Topology, number], kind: string) {
    this.simulation = new Simulation(seed, topology, replicas);
    this.kind = kind;
    const { random } = this.simulation;
    const limit = (): number => toDollars(Math.floor(2000 + random() * 40_000));
    const budget = (scope: "key" | "project", id: string) =>
      budgeted(
        { ...(random() < 0.8 && { day: limit() }), month: limit(), total: limit() * 2 },
        scope,
        id,
      );
    this.keys = [budget("key", "key_a"), budget("key", "key_b")];
    this.project = budget("project", "p");
  }

  /** Replicas without Redis count alone, and read each other's rows every two seconds. */
  get #isExact(): boolean {
    const { topology, processes } = this.simulation;
    return (topology === "replicas" || processes.length === 1) && this.kind !== "everything";
  }

  #weaken(ms = unknownMs): void {
    this.#weakUntil = Math.max(this.#weakUntil, this.simulation.time.now() + ms);
  }

  async run(): Promise<void> {
    const { simulation, kind } = this;
    const { random, after, time } = simulation;
    const isAll = kind === "everything";
    // For a moment, the replica applies its share.
    simulation.onFailure = () => this.#weaken(200);
    if (kind === "bad network" || isAll)
      simulation.faults = { lost: 0.05, late: 0.02, repeated: 0.05 };
    const clients = Array.from({ length: 6 }, (_, client) => this.#runClient(client));
    const faults: Promise<void>[] = [];
    const every = (ms: number, work: () => unknown) =>
      faults.push(
        (async () => {
          while (time.now() < runMs - 2000) {
            await after(random() * ms);
            await work();
          }
        })(),
      );
    const { hasRedis, redis, ledger, processes } = simulation;
    if (kind === "kills" || isAll)
      every(3000, () => simulation.kill(Math.floor(random() * processes.length)));
    if ((kind === "Redis away" || isAll) && hasRedis)
      every(3000, async () => {
        const cutOff = simulation.pick(processes);
        const isAlone = random() < 0.5;
        if (isAlone) cutOff.isCutOff = true;
        else simulation.isRedisAway = true;
        for (const until = time.now() + random() * 4000; time.now() < until; await after(100))
          this.#weaken();
        cutOff.isCutOff = false;
        simulation.isRedisAway = false;
      });
    if ((kind === "flush" || isAll) && hasRedis)
      every(4000, () => {
        this.#weaken();
        redis.flush();
      });
    if (kind === "failover" && hasRedis)
      every(3000, async () => {
        const failOver = redis.copy();
        await after(random() * 1000);
        this.#weaken();
        failOver();
      });
    if (kind === "database away" || isAll)
      every(3000, async () => {
        ledger.isAway = true;
        await after(random() * 5000);
        ledger.isAway = false;
      });
    const jobs = this.#runJobs();
    const all = Promise.all([...clients, ...faults, jobs]);
    let isDone = false;
    void all.then(() => {
      isDone = true;
    });
    await time.advanceUntil(() => isDone);
    simulation.faults = { lost: 0, late: 0, repeated: 0 };
    const isLate = isAll || ["bad network", "flush", "failover"].includes(kind);
    const until = time.now() + (isLate ? longQuietMs : quietMs);
    await time.advanceUntil(() => time.now() >= until);
    await this.#checkQuiet();
  }

  async #runClient(client: number): Promise<void> {
    const { simulation } = this;
    const { random, after, time } = simulation;
    while (time.now() < runMs) {
      await after(random() * 150);
      const owners = [this.keys[client % 2] as BudgetedOwner, this.project];
      const nanos = 1 + Math.floor(random() * 900);
      const mostNanos = random() < 0.5 ? nanos : Math.floor(nanos * (1 + random() * 2));
      const at = simulation.now();
      const process = simulation.pick(simulation.processes);
      const admitted = await process.send(owners, { nanos, mostNanos });
      if (!admitted) continue;
      // Its cost is at most its estimate.
      const cost = Math.floor(random() * (nanos + 1));
      this.#use(owners, at, nanos);
      await after(random() < 0.1 ? random() * 4000 : random() * 200);
      // The next process charges the estimate of what a killed one has not ended.
      if (!process.isDead) this.#use(owners, at, cost - nanos);
      process.end(admitted, cost);
    }
  }

  /** Adds to the law's own account. Of what was admitted, at least the likely cost is reserved. */
  #use(owners: readonly BudgetedOwner[], at: number, nanos: number): void {
    const names = periodNames(at);
    for (const { scope, id, budget } of owners) {
      for (const period of ["day", "month", "total"] as const) {
        const limit = budget[period];
        if (limit === undefined) continue;
        const key = spendKey({ scope, id, period: names[period] });
        const used = (this.used.get(key) ?? 0) + nanos;
        this.used.set(key, used);
        if (nanos <= 0 || !this.#isExact) continue;
        if (this.simulation.time.now() < this.#weakUntil)
          this.weak.set(key, (this.weak.get(key) ?? 0) + nanos);
        const weak = this.weak.get(key) ?? 0;
        if (used > toNanos(limit) + weak)
          this.problems.push(`${key} is exceeded: ${used} of ${toNanos(limit)}, and ${weak}`);
      }
    }
  }

  /** A job whose entry becomes smaller, and ends. */
  async #runJobs(): Promise<void> {
    const { simulation } = this;
    const { random, after } = simulation;
    const job = {
      id: "batch_1-0",
      owners: [this.keys[0] as BudgetedOwner],
      version: 1,
      nanos: 500,
    };
    await after(random() * 1000);
    simulation.jobEntries = [job];
    for (let version = 2; version < 5; version++) {
      await after(random() * 1000);
      simulation.jobEntries = [{ ...job, version, nanos: job.nanos - version * 100 }];
    }
    simulation.jobEntries = [];
  }

  /** When it is quiet, every account says the same, and what is left can be spent, and not more. */
  async #checkQuiet(): Promise<void> {
    const { simulation, problems } = this;
    const { redis, processes } = simulation;
    const { rows, sums } = simulation.ledger;
    const charged = new Map<string, number>();
    for (const row of rows) {
      for (const key of spendKeysOf(row))
        charged.set(spendKey(key), (charged.get(spendKey(key)) ?? 0) + nanosOf(row));
    }
    const expectSame = (what: string, found: number, expected: number): void => {
      if (found !== expected) problems.push(`${what}: ${found} instead of ${expected}`);
    };
    for (const [key, nanos] of charged) {
      expectSame(`${key} in the database`, sums.get(key)?.nanos ?? 0, nanos);
      const copy = redis.budgets.get(key);
      if (!copy) continue;
      const ended = [...copy.ended.values()].filter(({ epoch }) => epoch > 0);
      const present = processes.map(({ folder }) => {
        const own = copy.ended.get(folder.name);
        return own?.epoch === folder.epoch || own?.nanos === 0 ? (own?.nanos ?? 0) : 0;
      });
      expectSame(`${key} ended in Redis, of ${ended.length}`, sum(present), 0);
    }
    const at = simulation.now();
    for (const [number, process] of processes.entries()) {
      expectSame(`rows that wait at ${number}`, process.folder.rows.length, 0);
      for (const owner of [...this.keys, this.project]) {
        const reading = process.budgets.read([owner], at);
        let isRead = false;
        void reading.then(() => {
          isRead = true;
        });
        await simulation.time.advanceUntil(() => isRead);
        for (const { period, spent, reserved } of process.budgets.status(owner, at)) {
          const key = spendKey({ ...owner, period: periodNames(at)[period] });
          expectSame(`${key} reserved at ${number}`, reserved, 0);
          expectSame(`${key} spent at ${number}`, Math.round(spent * 1e9), charged.get(key) ?? 0);
        }
      }
      for (const { ended } of process.accounts) if (ended !== 0) problems.push(`ended ${ended}`);
    }
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, each) => all + each, 0);

async function broken(seed: number): Promise<string[]> {
  const kind = programs[seed % programs.length] as string;
  const topology = topologies[Math.floor(seed / programs.length) % topologies.length];
  if (!topology) throw new Error("no topology");
  const program = new Program(seed, topology, kind);
  await program.run();
  return program.problems
    .slice(0, 5)
    .map((problem) => `seed ${seed}, ${topology.join(" of ")}, ${kind}: ${problem}`);
}

const { MONEY_SEED: one, MONEY_PROGRAMS: count = "1000" } = process.env;
const seeds =
  one === undefined ? Array.from({ length: Number(count) }, (_, seed) => seed) : [Number(one)];

test("each dollar is in one place, whatever happens to calls, replicas, Redis and the database", async () => {
  const problems: string[] = [];
  for (const seed of seeds) problems.push(...(await broken(seed)));
  expect(problems.slice(0, 20)).toEqual([]);
}, 120_000);
