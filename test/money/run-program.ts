/** Runs one program against one topology with its faults, and judges what is left when it is quiet again. */
import { temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import {
  chargeOf,
  endUsers,
  type Owner,
  ownersOf,
  type Row,
  readBudgets,
  readRows,
  readThresholds,
  readUsage,
  teams,
} from "./account.ts";
import { startBatchVendor } from "./batch-vendor.ts";
import { checkAdmission, type FaultTime } from "./check-admission.ts";
import { checkBatchCosts } from "./check-batch-costs.ts";
import { checkInvoice } from "./check-invoice.ts";
import { checkSums, type ReplicaView, spentOf } from "./check-sums.ts";
import { Clients, type Outcome } from "./clients.ts";
import { configurationOf, pricesOf, revocable, withoutRevocable } from "./configuration.ts";
import { runFault } from "./faults.ts";
import { Gateways } from "./gateways.ts";
import {
  type EmbeddingsOp,
  models,
  type Nano,
  type Op,
  type Period,
  type Program,
  randomProgram,
} from "./program.ts";
import { Random } from "./random.ts";
import type { Scenario } from "./scenarios.ts";
import { startVendor } from "./vendor.ts";
import { dollars, type Violation } from "./violation.ts";

export interface Judgment {
  readonly violations: readonly Violation[];
  /** In one line. */
  readonly summary: string;
}

/** How long the numbers may differ after the last request, and how long they may stay the same and wrong. */
const [quietMs, unchangedMs] = [15_000, 5000];
/** Longer than a replica takes to notice a new configuration. */
const reloadMs = 4000;
/** The id of the first operation that is not of the program. */
const firstProbe = 1_000_000;

export async function runScenario(scenario: Scenario, checkout?: string): Promise<Judgment> {
  const { topology, seed, faults, hasJobs } = scenario;
  const random = new Random(seed * 7919);
  const hasImageBatches = hasJobs && !faults.includes("kill -9");
  const program = randomProgram(seed, { hasJobs, hasImageBatches });
  const aheadMs = randomClock(random, program.durationMs);
  const ops = new Map<number, Op>(program.ops.map((op) => [op.id, op]));
  const attempts = new Map<string, number>();
  const vendors = {
    a: startVendor("a", pricesOf("a"), ops, attempts),
    b: startVendor("b", pricesOf("b"), ops, attempts),
    batches: startBatchVendor(ops),
  };
  const urls = { a: vendors.a.url, b: vendors.b.url, batches: vendors.batches.url };
  const yaml = configurationOf(program, urls);
  const keys = program.keys.map((key) =>
    key.name === program.lowered.key ? { ...key, budget: program.lowered.budget } : key,
  );
  const loweredYaml = configurationOf({ ...program, keys }, urls);
  using folder = temporaryFolder();
  const isSkewed = faults.includes("skewed clock");
  const gateways = await Gateways.start({
    topology,
    folder: folder.path,
    yaml,
    clocksMs: [0, 1, 2].map((at) => aheadMs + (isSkewed ? at * 700 : 0)),
    checkout,
    hasFewConnections: faults.includes("few connections"),
    hasOwnDatabase: faults.some((name) => name.startsWith("PostgreSQL")),
  });
  try {
    const clients = new Clients(gateways, program);
    const startedAt = Date.now();
    const times: FaultTime[] = [];
    let current = yaml;
    let isRevoked = false;
    const configure = (): void =>
      gateways.configure(isRevoked ? withoutRevocable(current) : current);
    const revokeKey = (): void => {
      isRevoked = true;
      configure();
      clients.revoke(revocable);
    };
    const tools = { vendor: vendors.batches, revokeKey };
    const running = program.ops.map(async (op) => {
      await Bun.sleep(Math.max(0, startedAt + op.at - Date.now()));
      return clients.run(op);
    });
    const breaking = faults.map(async (name, at) => {
      // Its moment is that of the vendor's batch.
      if (name === "kill -9 at a delivery") {
        const from = Date.now();
        const { weakensBudgets } = await runFault(name, gateways, tools, random);
        times.push({ name, from: from + aheadMs, to: Date.now() + aheadMs, weakensBudgets });
        return;
      }
      const share = 0.3 + 0.3 * random.next() + at * 0.2;
      await Bun.sleep(Math.max(0, startedAt + share * program.durationMs - Date.now()));
      const from = Date.now();
      const { weakensBudgets } = await runFault(name, gateways, tools, random);
      times.push({ name, from: from + aheadMs, to: Date.now() + aheadMs, weakensBudgets });
    });
    let loweredAt = 0;
    const lowering = async (): Promise<void> => {
      await Bun.sleep(Math.max(0, startedAt + program.lowered.at - Date.now()));
      current = loweredYaml;
      configure();
      // A change that follows another one is noticed after that one is loaded.
      loweredAt = Date.now() + (isRevoked ? 2 : 1) * reloadMs + aheadMs;
    };
    await Promise.all([...running, ...breaking, lowering()]);
    await gateways.ready();
    const unfinished = hasJobs ? await clients.jobsEnded() : [];
    const law = new Law(gateways, program, clients, vendors, times, aheadMs, loweredAt);
    await law.untilQuiet();
    const refused = await law.probe(random);
    const violations = [...unfinished, ...refused, ...(await law.untilQuiet())];
    const rows = law.rows;
    const kinds = [...Map.groupBy(program.ops, ({ kind }) => kind)].map(
      ([kind, own]) => `${own.length} ${kind}`,
    );
    const refusals = [...clients.outcomes.values()].filter(({ status }) => status === 429).length;
    const shownFaults = faults.length === 0 ? "no fault" : faults.join(", ");
    const summary = `seed ${seed}: ${topology}, ${shownFaults}: ${kinds.join(", ")}; ${rows.length} rows, ${law.invoice.length} invoice lines, ${refusals} refusals, ${dollars(rows.reduce((total, row) => total + chargeOf(row), 0))}, ${Math.round((Date.now() - startedAt) / 1000)} s`;
    if (process.env.MONEY_OUTPUT) await Bun.write(process.env.MONEY_OUTPUT, gateways.output());
    return { violations, summary };
  } finally {
    await gateways.close();
    for (const vendor of Object.values(vendors)) vendor.close();
  }
}

/** Any time of the day; every fourth program runs over midnight UTC. */
function randomClock(random: Random, durationMs: number): number {
  const dayMs = 86_400_000;
  if (!random.chance(0.25)) return Math.floor(random.next() * dayMs - dayMs / 2);
  const untilMidnight = dayMs - (Date.now() % dayMs);
  // The gateways need some seconds to start.
  return untilMidnight - 5000 - Math.floor(random.next() * durationMs);
}

interface Vendors {
  readonly a: ReturnType<typeof startVendor>;
  readonly b: ReturnType<typeof startVendor>;
  readonly batches: ReturnType<typeof startBatchVendor>;
}

class Law {
  rows: readonly Row[] = [];
  readonly #gateways: Gateways;
  readonly #program: Program;
  readonly #clients: Clients;
  readonly #vendors: Vendors;
  readonly #faults: readonly FaultTime[];
  readonly #aheadMs: number;
  readonly #owners: readonly Owner[];

  constructor(
    gateways: Gateways,
    program: Program,
    clients: Clients,
    vendors: Vendors,
    faults: readonly FaultTime[],
    aheadMs: number,
    loweredAt: number,
  ) {
    this.#gateways = gateways;
    this.#program = program;
    this.#clients = clients;
    this.#vendors = vendors;
    this.#faults = faults;
    this.#aheadMs = aheadMs;
    this.#owners = ownersOf(program, loweredAt);
  }

  get invoice() {
    const { a, b, batches } = this.#vendors;
    return [...a.invoice, ...b.invoice, ...batches.invoice];
  }

  #now(): number {
    return Date.now() + this.#aheadMs;
  }

  /** A row is in the database a moment after its response. */
  async #hasAllRows(): Promise<boolean> {
    this.rows = await readRows(this.#gateways);
    const served = this.rows.filter(({ status }) => status === 200);
    const ids = new Set(served.map(({ op }) => op));
    return [...this.#clients.outcomes.values()].every(
      ({ op, isComplete }) => !isComplete || op.kind.includes("batch") || ids.has(op.id),
    );
  }

  /** The violations that are left when the views agree, or after the time in which they must. */
  async untilQuiet(): Promise<Violation[]> {
    const end = Date.now() + quietMs;
    let [seen, since] = ["", 0];
    for (;;) {
      const violations = await this.#judge();
      const text = violations.map((each) => each.text).join();
      if (text !== seen) [seen, since] = [text, Date.now()];
      if (violations.length === 0 || Date.now() > Math.min(end, since + unchangedMs))
        return violations;
      await Bun.sleep(300);
    }
  }

  async #judge(): Promise<Violation[]> {
    const gateways = this.#gateways;
    const outcomes: ReadonlyMap<number, Outcome> = this.#clients.outcomes;
    this.rows = await readRows(gateways);
    const views = await Promise.all(
      gateways.urls.map(async (_, replica): Promise<ReplicaView> => {
        const budgets = await readBudgets(gateways, replica, this.#owners);
        return { replica, at: this.#now(), budgets, usage: await readUsage(gateways, replica) };
      }),
    );
    const [owners, rows, program] = [this.#owners, this.rows, this.#program];
    return [
      ...checkInvoice({ program, invoice: this.invoice, rows, outcomes }),
      ...checkSums({ owners, rows, views, thresholds: await readThresholds(gateways) }),
      ...checkBatchCosts({ rows, outcomes, hasFaults: this.#faults.length > 0 }),
      ...checkAdmission({ owners, rows, outcomes, faults: this.#faults }),
    ];
  }

  /**
   * When it is quiet, a request that just fits is admitted within two seconds, at every replica, and one that does not
   * fit is refused.
   */
  async probe(random: Random): Promise<Violation[]> {
    const violations: Violation[] = [];
    const { keys, projects } = this.#program;
    let id = firstProbe;
    for (const key of keys) {
      if (this.#clients.isRevoked(key.name)) continue;
      const project = projects.find(({ name }) => name === key.project);
      const users = project?.perEndUser ? [undefined, random.pick(endUsers)] : [undefined];
      for (const endUser of users) {
        const team = project?.perTeam && random.chance(0.5) ? random.pick(teams) : undefined;
        const op: Omit<EmbeddingsOp, "texts"> = {
          ...{ id: id++, at: 0, kind: "embeddings", key: key.name, model: "single" },
          ...{ replica: random.whole(0, 2), behaviors: [] },
          ...(endUser !== undefined && { endUser }),
          ...(team !== undefined && { team }),
        };
        const project_ = key.project ?? null;
        const charged = this.#owners.filter((owner) =>
          owner.owns({ key: key.name, project: project_, endUser: endUser ?? null, team } as Row),
        );
        if (charged.length > 0) violations.push(...(await this.#probeOne(op, charged)));
      }
    }
    return violations;
  }

  async #probeOne(
    op: Omit<EmbeddingsOp, "texts">,
    charged: readonly Owner[],
  ): Promise<Violation[]> {
    await until(() => this.#hasAllRows());
    const left = Math.min(
      ...charged.flatMap((owner) =>
        (Object.entries(owner.limits) as [Period, Nano][]).map(
          ([period, limit]) => limit - spentOf(this.rows, owner, period, this.#now()),
        ),
      ),
    );
    const { perToken } = models.single;
    const names = charged.map(({ scope, name }) => `${scope} ${name}`).join(", ");
    const tokens = Math.floor((left - 100) / perToken);
    if (tokens > 60) {
      const op1: EmbeddingsOp = { ...op, texts: textsOf(op.id, tokens) };
      const endAt = Date.now() + 2200;
      let outcome = await this.#clients.run(op1);
      // An error of the busy machine says nothing about money.
      const isRetried = (): boolean =>
        outcome.status === 429
          ? outcome.isTemporary === true && Date.now() < endAt
          : outcome.status !== 200 && Date.now() < endAt + 20_000;
      while (isRetried()) {
        await Bun.sleep(200);
        outcome = await this.#clients.run(op1);
      }
      if (outcome.status === 200) return [];
      return [
        {
          law: "admission: a request that fits is refused when it is quiet",
          text: `${names}: ${dollars(left)} are left, a request of at most ${dollars(tokens * perToken)} at replica ${op.replica} got ${outcome.status} ${outcome.errorCode}${outcome.isTemporary ? " (temporary)" : ""}: ${outcome.message}`,
        },
      ];
    }
    const bytes = Math.max(100, Math.ceil(Math.max(0, left) / perToken) * 8 + 200);
    const outcome = await this.#clients.run({ ...op, texts: textsOf(op.id, bytes + 2) });
    if (outcome.status === 429) return [];
    return [
      {
        law: "admission: a request above the limit is admitted when it is quiet",
        text: `${names}: ${dollars(left)} are left, a request of ${bytes} bytes at replica ${op.replica} got ${outcome.status}`,
      },
    ];
  }
}

/** Texts of so many tokens at most: one for each byte, and two for each text. */
function textsOf(id: number, tokens: number): string[] {
  const most = 2000;
  const count = Math.ceil(tokens / most);
  return Array.from({ length: count }, (_, at) => {
    const own = Math.floor(tokens / count) - 2;
    return `${id}.${at} `.padEnd(own, "probe ").slice(0, own);
  });
}
