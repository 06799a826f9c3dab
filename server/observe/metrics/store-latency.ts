/** How long the calls of the stores take that replicas share: PostgreSQL, Redis and the object store. */
import type { TimeCall } from "../../lib/time-call.ts";
import { Histogram } from "./instruments.ts";
import type { MetricSnapshot } from "./metric-snapshot.ts";

type SharedStoreName = "database" | "redis" | "object_store";

export class StoreLatency {
  readonly #clock: () => number;
  readonly #duration = new Histogram({
    name: "vexel_store_call_duration_seconds",
    help: "Time of one call of a shared store: a query or transaction of the database, a command of Redis, a request to the object store. outcome: success or error.",
    labelNames: ["store", "outcome"],
    bounds: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  });

  /** `clock`: milliseconds, monotonic. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  timerOf(store: SharedStoreName): TimeCall {
    return async (call) => {
      const startedAt = this.#clock();
      let outcome = "error";
      try {
        const result = await call();
        outcome = "success";
        return result;
      } finally {
        this.#duration.observe((this.#clock() - startedAt) / 1000, store, outcome);
      }
    };
  }

  snapshot(): MetricSnapshot {
    return this.#duration.snapshot();
  }
}
