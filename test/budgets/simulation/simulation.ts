/**
 * Gateways in virtual time, in one process: their counters, charging, limiter, reports and forwarding are the real
 * modules; Redis, the database, the data folders and the network are simulated. A call may be lost, executed late, or
 * executed twice, and a process may be killed at any time. The same seed does the same again.
 */
import type { BudgetedOwner } from "../../../contract/limits-and-budgets.ts";
import { createBudgets } from "../../../server/budgets/budgets.ts";
import { createRequestCharging } from "../../../server/budgets/charge-request.ts";
import { OwnerBudgets } from "../../../server/budgets/owner-budgets.ts";
import { Accounts } from "../../../server/ledger/accounts.ts";
import { openForwarding } from "../../../server/ledger/open-forwarding.ts";
import { toDollars } from "../../../server/lib/nano-dollars.ts";
import type { repeat } from "../../../server/lib/timers.ts";
import { SharedLimiter } from "../../../server/limits/shared-limiter.ts";
import type { Caller, PermittedModel } from "../../../server/request/caller.ts";
import { RequestRecord } from "../../../server/request/request-record.ts";
import type { LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import type { SpendKey, SpentSum } from "../../../server/storage/ports/ledger-store.ts";
import type { LimitsDemand, LimitsUpdate } from "../../../server/storage/redis/shared-limits.ts";
import { nanosOf, spendKey, spendKeysOf } from "../../../server/storage/sql/spend-tally.ts";
import type { Target } from "../../../server/upstream/contract.ts";
import { randomFrom, VirtualTime } from "../../fuzz/routing-simulation.ts";
import { RedisModel, type Sender } from "./redis-model.ts";

export type Topology = "sqlite" | "postgres" | "replicas";

/** The ledger's database, of one process or of all replicas. */
class LedgerModel {
  isAway = false;
  readonly #ids = new Set<string>();
  readonly sums = new Map<string, SpentSum>();
  readonly rows: LedgerRow[] = [];

  /** A transaction. */
  append(rows: readonly LedgerRow[]): readonly SpentSum[] {
    const changed = new Map<string, SpentSum>();
    for (const row of rows) {
      const isNew = !this.#ids.has(row.requestId);
      if (isNew) {
        this.#ids.add(row.requestId);
        this.rows.push(row);
      }
      for (const key of nanosOf(row) > 0 ? spendKeysOf(row) : []) {
        const sum = { ...key, nanos: this.read(key) + (isNew ? nanosOf(row) : 0) };
        this.sums.set(spendKey(key), sum);
        changed.set(spendKey(key), sum);
      }
    }
    return [...changed.values()];
  }

  read = (key: SpendKey): number => this.sums.get(spendKey(key))?.nanos ?? 0;
}

/** What a killed process leaves. */
class Folder {
  readonly name: string;
  epoch = 0;
  rows: LedgerRow[] = [];
  readonly inFlight = new Map<string, LedgerRow>();
  /** What the shared database has returned. */
  readonly sums = new Map<string, number>();

  constructor(name: string) {
    this.name = name;
  }
}

/** A request that was admitted. */
interface Admitted {
  readonly record: RequestRecord;
  readonly caller: Caller;
  readonly process: Process;
}

const target = { upstream: { id: "u" }, model: "m" } as unknown as Target;

export class Simulation {
  readonly random: () => number;
  readonly time = new VirtualTime(16);
  readonly startedAt: number;
  readonly topology: Topology;
  readonly ledger = new LedgerModel();
  readonly redis: RedisModel;
  readonly processes: Process[] = [];
  /** Shares of calls that are lost, late or repeated. */
  faults = { lost: 0, late: 0, repeated: 0 };
  isRedisAway = false;
  /** A call has failed. */
  onFailure: () => void = () => undefined;
  requests = 0;
  jobEntries: { id: string; version: number; owners: readonly BudgetedOwner[]; nanos: number }[] =
    [];

  constructor(seed: number, topology: Topology, replicas: number) {
    this.random = randomFrom(seed);
    this.topology = topology;
    const day = 86_400_000;
    const days = Math.floor(this.random() * 800);
    // Every other program begins within a minute before midnight UTC.
    const inDay = seed % 2 === 0 ? day - this.random() * 60_000 : this.random() * day;
    this.startedAt = Date.UTC(2026, 0, 1) + days * day + Math.floor(inDay);
    this.redis = new RedisModel(this.time.now);
    for (let at = 0; at < replicas; at++)
      this.processes.push(new Process(this, new Folder(`folder-${at}`)));
  }

  get hasRedis(): boolean {
    return this.topology === "replicas";
  }

  now = (): number => this.startedAt + this.time.now();

  pick = <T>(from: readonly T[]): T => from[Math.floor(this.random() * from.length)] as T;

  after = (ms: number): Promise<void> =>
    new Promise((resolve) => void this.time.start(ms, resolve));

  repeat: typeof repeat = ({ everyMs, isImmediate }, work) => {
    let isStopped = false;
    const run = async (): Promise<void> => {
      if (isStopped) return;
      await work(new AbortController().signal).catch(() => undefined);
      this.time.start(everyMs, run);
    };
    if (isImmediate) void run();
    else this.time.start(everyMs, run);
    return async () => {
      isStopped = true;
    };
  };

  /** A call over the network. */
  async call<T>(isAway: () => boolean, execute: () => T): Promise<T> {
    const { random, after, faults } = this;
    const fault = random();
    await after(random() * 3);
    const fail = async (ms: number): Promise<never> => {
      await after(ms);
      this.onFailure();
      throw new Error("no reply");
    };
    if (isAway() || fault < faults.lost / 2) return fail(random() * 1000);
    const isLate = fault > 1 - faults.late;
    if (isLate) {
      this.time.start(random() * 4000, () => void (isAway() || execute()));
      return fail(1000);
    }
    const reply = execute();
    if (random() < faults.repeated)
      this.time.start(random() * 4000, () => void (isAway() || execute()));
    await after(random() * 3);
    return fault < faults.lost ? fail(0) : reply;
  }

  kill(at: number): void {
    const killed = this.processes[at] as Process;
    killed.isDead = true;
    killed.died.resolve(undefined);
    this.processes[at] = new Process(this, killed.folder);
  }
}

export class Process {
  readonly folder: Folder;
  isDead = false;
  readonly died = Promise.withResolvers<undefined>();
  /** Undefined if there is no Redis. */
  readonly limiter: SharedLimiter | undefined;
  readonly accounts: Accounts;
  readonly budgets: ReturnType<typeof createBudgets>;
  readonly #simulation: Simulation;
  readonly #charging: ReturnType<typeof createRequestCharging>;
  #number = 0;
  #renewed = -1;
  /** Cut off from Redis by itself. */
  isCutOff = false;
  #stops: (() => unknown)[] = [];

  constructor(simulation: Simulation, folder: Folder) {
    this.#simulation = simulation;
    this.folder = folder;
    folder.epoch++;
    // The outbox of the process before.
    for (const row of folder.inFlight.values()) folder.rows.push(row);
    folder.inFlight.clear();
    this.accounts = simulation.topology === "sqlite" ? this.#openOwn() : this.#openShared();
    this.limiter = simulation.hasRedis ? this.#openLimiter() : undefined;
    const { limiter, accounts } = this;
    if (limiter) accounts.share(limiter.accounts);
    this.budgets = createBudgets({
      owners: new OwnerBudgets({ accounts }),
      shared: limiter,
      emit: () => undefined,
    });
    this.#charging = createRequestCharging({
      budgets: this.budgets,
      planImageQuery: () => undefined,
      inFlight: {
        begin: ({ requestId, at, estimate = 0, keyId, project }) => {
          const row = this.#rowOf(requestId, at, keyId, project, estimate);
          folder.inFlight.set(requestId, row);
        },
      },
      shared: limiter,
    });
    this.#every(1000, async () => {
      const owned = simulation.jobEntries.map(({ id, version, owners, nanos }) => ({
        id,
        version,
        amounts: owners.map((owner) => ({ owner, nanos })),
      }));
      this.budgets.setJobEntries(owned, simulation.now());
    });
    if (limiter) this.#every(1000, async () => limiter.renew());
  }

  #rowOf(
    requestId: string,
    at: number,
    keyId: string,
    project: string | null,
    estimatedCost: number,
  ): LedgerRow {
    const record = new RequestRecord(requestId, "embeddings", at);
    record.end(500, undefined, 0, 0);
    const row = record.ledgerRow({ id: keyId, ...(project && { project }) } as unknown as Caller);
    return { ...row, cost: null, estimatedCost, status: 500, error: "internal" };
  }

  #every(everyMs: number, work: () => Promise<void>): void {
    this.#stops.push(
      this.#simulation.repeat({ everyMs, isImmediate: true }, async () => {
        if (!this.isDead) await work();
      }),
    );
  }

  #openOwn(): Accounts {
    const { folder } = this;
    const { time, ledger } = this.#simulation;
    const accounts = new Accounts({ readSpent: ledger.read, clock: time.now });
    for (const row of folder.rows) accounts.end(row);
    this.#every(50, async () => {
      const rows = folder.rows.slice(0, 500);
      if (rows.length === 0 || ledger.isAway) return;
      accounts.store(rows, ledger.append(rows));
      folder.rows.splice(0, rows.length);
    });
    return accounts;
  }

  #openShared(): Accounts {
    const simulation = this.#simulation;
    const { ledger } = simulation;
    const { folder } = this;
    const isAway = (): boolean => ledger.isAway || this.isDead;
    const known = new Map<string, number>();
    let isRead = false;
    const { accounts } = openForwarding({
      folder: "",
      backlog: {
        earlier: [...folder.rows],
        // No row is appended twice here.
        onIgnored: undefined,
        get size() {
          return folder.rows.length;
        },
        readSpent: (key) => folder.sums.get(spendKey(key)) ?? 0,
        oldest: (limit) => folder.rows.slice(0, limit),
        remove: (ids, sums) => {
          if (this.isDead) throw new Error("killed");
          for (const sum of sums) folder.sums.set(spendKey(sum), sum.nanos);
          const removed = new Set(ids);
          folder.rows = folder.rows.filter(({ requestId }) => !removed.has(requestId));
        },
      },
      shared: {
        ledger: {
          append: (rows) => this.#alive(simulation.call(isAway, () => ledger.append(rows))),
          rollUp: async () => undefined,
        },
        spend: {
          get isRead() {
            return isRead;
          },
          read: (key) => known.get(spendKey(key)) ?? 0,
          raise: (sums) => {
            for (const sum of sums)
              known.set(spendKey(sum), Math.max(sum.nanos, known.get(spendKey(sum)) ?? 0));
          },
          refresh: async () => {
            const sums = await this.#alive(
              simulation.call(isAway, () => [...ledger.sums.values()]),
            );
            isRead = true;
            for (const sum of sums) known.set(spendKey(sum), sum.nanos);
            return sums;
          },
          readNamed: async () => [],
        },
      },
      log: { warn: () => undefined, error: () => undefined },
      emit: () => undefined,
      clock: simulation.time.now,
      repeat: simulation.repeat,
    });
    return accounts;
  }

  /** What a killed process waits for never comes. */
  async #alive<T>(promise: Promise<T>): Promise<T> {
    const value = await promise;
    if (this.isDead) await new Promise(() => undefined);
    return value;
  }

  #openLimiter(): SharedLimiter {
    const simulation = this.#simulation;
    const { redis, time } = simulation;
    const isAway = (): boolean => simulation.isRedisAway || this.isCutOff;
    const sender = (): Sender => {
      const { name, epoch } = this.folder;
      return { name, epoch, number: ++this.#number };
    };
    const wasAway = { value: false };
    const limiter: SharedLimiter = new SharedLimiter({
      limits: {
        take: (demand: LimitsDemand, update?: LimitsUpdate) => {
          const from = sender();
          return this.#alive(simulation.call(isAway, () => redis.take(from, demand, update)));
        },
        update: async (update: LimitsUpdate) => {
          const from = sender();
          const renewed = await this.#alive(
            simulation.call(isAway, () => redis.update(from, update)),
          );
          if (!update.isComplete) return { isLost: false };
          const isLost = renewed < this.#renewed;
          this.#renewed = Math.max(this.#renewed, from.number);
          return { isLost };
        },
      },
      replica: `${this.folder.name}-${this.folder.epoch}`,
      isReachable: () => {
        const away = isAway();
        if (!away && wasAway.value) queueMicrotask(() => limiter.recover());
        wasAway.value = away;
        return !away;
      },
      replicas: () => simulation.processes.length || 1,
      clock: time.now,
      timers: { start: (ms, fire) => time.start(ms, () => this.isDead || fire()), stop: time.stop },
      random: simulation.random,
      onError: () => undefined,
      onForgotten: () => undefined,
    });
    return limiter;
  }

  /** Undefined if it was refused. */
  async send(
    owners: readonly BudgetedOwner[],
    estimate: { readonly nanos: number; readonly mostNanos: number },
  ): Promise<Admitted | undefined> {
    const simulation = this.#simulation;
    const project = owners.find(({ scope }) => scope === "project")?.id;
    const key = owners.find(({ scope }) => scope === "key")?.id ?? "key_none";
    const record = new RequestRecord(
      `req_${++simulation.requests}`,
      "embeddings",
      simulation.now(),
    );
    const caller = { id: key, name: key, project, budgets: owners } as unknown as Caller;
    record.caller = caller;
    const dollars = toDollars(estimate.nanos);
    const maxDollars = toDollars(estimate.mostNanos);
    const request = {
      operation: "embeddings",
      query: undefined,
      model: {} as PermittedModel,
      record,
      estimate: { dollars, maxDollars, isCertain: true },
    } as const;
    try {
      const reserving = this.#charging.reserve(request);
      // The client of a killed process gets an error.
      await Promise.race([reserving, this.died.promise]);
    } catch {
      return undefined;
    }
    if (this.isDead) return undefined;
    this.#charging.logAttempt(request, 1);
    return { record, caller, process: this };
  }

  /** The request has ended: it costs this much. */
  end({ record, caller }: Admitted, nanos: number): void {
    if (this.isDead) return;
    record.charge.add({ target, billed: "yes", cost: toDollars(nanos) });
    record.end(200, undefined, this.#simulation.time.now(), 0);
    record.reservation?.release();
    const row = record.ledgerRow(caller);
    this.folder.rows.push(row);
    this.folder.inFlight.delete(row.requestId);
    this.accounts.end(row);
  }
}
