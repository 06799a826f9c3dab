/**
 * A model of the shared budgets in Redis: what the scripts of `limits-scripts.ts` do with budgets, without rates and slots.
 * `redis-model.slow.test.ts` holds it to the scripts.
 */
import {
  forgetEndedMs,
  leaseMs,
  refreshEndedMs,
} from "../../../server/storage/redis/limits-scripts.ts";
import type {
  BudgetDemand,
  BudgetState,
  BudgetView,
  ForgottenAmount,
  LimitsDemand,
  LimitsReply,
  LimitsUpdate,
  OpenEntry,
} from "../../../server/storage/redis/shared-limits.ts";

/** Who sends a call: the data folder, its epoch, and the number of the call. */
export interface Sender {
  readonly name: string;
  readonly epoch: number;
  readonly number: number;
}

interface EndedAmount extends Omit<Sender, "name"> {
  readonly nanos: number;
  readonly at: number;
}

interface ModelBudget {
  spent: number;
  readonly entries: Map<string, OpenEntry & { readonly expiresAt: number }>;
  readonly ended: Map<string, EndedAmount>;
}

const isOlder = (a: Pick<Sender, "epoch" | "number">, b: Pick<Sender, "epoch" | "number">) =>
  a.epoch < b.epoch || (a.epoch === b.epoch && a.number < b.number);

export class RedisModel {
  readonly #now: () => number;
  budgets = new Map<string, ModelBudget>();
  #renewals = new Map<string, Pick<Sender, "epoch" | "number">>();

  constructor(now: () => number) {
    this.#now = now;
  }

  flush(): void {
    this.restore(() => undefined);
  }

  /** A copy of the data, as a replica of Redis has it. Returns a failover to it. */
  copy(): () => void {
    const budgets = new Map(
      Array.from(this.budgets, ([name, { spent, entries, ended }]) => [
        name,
        { spent, entries: new Map(entries), ended: new Map(ended) },
      ]),
    );
    const renewals = new Map(this.#renewals);
    return () =>
      this.restore(() => {
        this.budgets = budgets;
        this.#renewals = renewals;
      });
  }

  restore(fill: () => void): void {
    this.budgets = new Map();
    this.#renewals = new Map();
    fill();
  }

  update(sender: Sender, { budgets, isComplete }: LimitsUpdate): number {
    for (const { closed, open, ...view } of budgets) {
      const budget = this.#read(sender, view);
      for (const id of closed) budget.entries.delete(id);
      for (const entry of open) this.#open(budget, entry);
    }
    if (!isComplete) return -1;
    const before = this.#renewals.get(sender.name) ?? { epoch: -1, number: -1 };
    if (isOlder(before, sender)) this.#renewals.set(sender.name, sender);
    return before.epoch === sender.epoch ? before.number : -1;
  }

  take(sender: Sender, { id, budgets }: LimitsDemand, update?: LimitsUpdate): LimitsReply {
    if (update) this.update(sender, update);
    const forgotten: ForgottenAmount[] = [];
    const judged = budgets.map((demand) => this.#judge(sender, demand, forgotten));
    const isTaken = judged.every(({ state }) => state.reserved !== "nothing");
    if (id !== "" && isTaken) {
      for (const { budget, state, nanos } of judged) {
        if (nanos === 0) continue;
        const isLikely = state.reserved === "likely";
        this.#open(budget, { id, nanos, isLikely, version: 0 });
        state.open += nanos;
      }
    }
    return {
      outcome: isTaken ? "taken" : "over_budget",
      missing: [],
      slots: [],
      budgets: judged.map(({ state }) => state),
      forgotten,
    };
  }

  #judge(sender: Sender, demand: BudgetDemand, forgotten: ForgottenAmount[]) {
    const budget = this.#read(sender, demand);
    for (const [id, { expiresAt }] of budget.entries)
      if (expiresAt <= this.#now()) budget.entries.delete(id);
    let [open, likely] = [0, 0];
    for (const { nanos, isLikely } of budget.entries.values()) {
      open += nanos;
      if (isLikely) likely++;
    }
    const ended = this.#sumEnded(sender, budget, forgotten);
    const exceeds = (nanos: number): boolean => {
      const used = budget.spent + ended + open;
      return nanos === 0 ? used >= demand.limit : used + nanos > demand.limit;
    };
    const state: { -readonly [Name in keyof BudgetState]: BudgetState[Name] } = {
      spent: budget.spent,
      ended,
      open,
      reserved: "maximum",
    };
    let nanos = demand.most;
    if (exceeds(nanos)) {
      nanos = demand.likely;
      state.reserved = likely > 0 || exceeds(nanos) ? "nothing" : "likely";
    }
    return { budget, state, nanos };
  }

  #sumEnded({ name }: Sender, { ended }: ModelBudget, forgotten: ForgottenAmount[]): number {
    let sum = 0;
    for (const [replica, { epoch, nanos, at }] of ended) {
      if (replica === name) sum += nanos;
      else if (this.#now() - at > forgetEndedMs) {
        ended.delete(replica);
        if (nanos > 0) forgotten.push({ replica, nanos });
      } else if (epoch >= (this.#renewals.get(replica)?.epoch ?? -1)) sum += nanos;
    }
    return sum;
  }

  #read(sender: Sender, { name, spent, ended }: BudgetView): ModelBudget {
    let budget = this.budgets.get(name);
    if (!budget) {
      budget = { spent: 0, entries: new Map(), ended: new Map() };
      this.budgets.set(name, budget);
    }
    budget.spent = Math.max(budget.spent, spent);
    const own = budget.ended.get(sender.name);
    if (own && !isOlder(own, sender)) return budget;
    const { epoch, number } = sender;
    const isNews =
      own?.nanos !== ended || own.epoch < epoch || this.#now() - own.at > refreshEndedMs;
    if (isNews) budget.ended.set(sender.name, { epoch, number, nanos: ended, at: this.#now() });
    return budget;
  }

  #open({ entries }: ModelBudget, entry: OpenEntry): void {
    if ((entries.get(entry.id)?.version ?? -1) > entry.version) return;
    entries.set(entry.id, { ...entry, expiresAt: this.#now() + leaseMs });
  }
}
