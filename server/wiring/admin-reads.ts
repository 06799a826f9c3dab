/** Wires the reads of the admin API: overview, requests, usage, budgets, limits and statistics. */
import type { ShownTarget } from "../../contract/admin.ts";
import type { AdminRoute } from "../admin/admin-route.ts";
import { createAttention, type FileProblems } from "../admin/reads/attention.ts";
import { createKeyNames } from "../admin/reads/key-names.ts";
import type { LiveTail } from "../admin/reads/live-tail.ts";
import type { ShownStatistics } from "../admin/reads/merge-workers.ts";
import { readableQueries } from "../admin/reads/readable-queries.ts";
import { budgetRoutes } from "../admin/routes/budgets.ts";
import { overviewRoutes } from "../admin/routes/overview.ts";
import { requestRoutes } from "../admin/routes/requests.ts";
import { statisticsRoutes } from "../admin/routes/statistics.ts";
import { usageRoutes } from "../admin/routes/usage.ts";
import type { Budgets } from "../budgets/budgets.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { EventViews } from "../events/show-events.ts";
import type { Admission } from "../limits/admission.ts";
import type { KeyStore } from "../storage/ports/key-store.ts";
import type { LedgerQueries } from "../storage/ports/ledger-queries.ts";
import type { UserStore } from "../storage/ports/user-store.ts";
import type { StoredContent } from "./stored-content.ts";

/** The parts of the gateway that the admin API reads. */
export interface ReadSources {
  readonly queries: LedgerQueries;
  readonly ledger: { readonly writable: boolean };
  readonly live: LiveTail;
  readonly content: Pick<StoredContent, "find">;
  readonly budgets: Budgets;
  readonly admission: Pick<Admission, "usedScope">;
  /** The statistics of all workers together. */
  readonly statistics: () => Promise<ShownStatistics>;
  readonly fileProblems: () => FileProblems;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface ReadRoutesOptions {
  readonly sources: ReadSources;
  readonly snapshot: () => Snapshot;
  readonly targets: () => Promise<readonly ShownTarget[]>;
  readonly eventViews: Pick<EventViews, "events">;
  readonly users: Pick<UserStore, "findById">;
  readonly keys: Pick<KeyStore, "findById" | "findByName">;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export function readRoutes(options: ReadRoutesOptions): readonly AdminRoute[] {
  const { sources, snapshot, targets, eventViews, users, keys, now } = options;
  const { ledger, live, content, budgets, admission, fileProblems, clock } = sources;
  const queries = readableQueries(sources.queries);
  const keyNames = createKeyNames(snapshot, users, keys, now);
  const attention = createAttention({
    snapshot,
    targets,
    budgets,
    ledger,
    now,
    fileProblems,
    events: eventViews,
  });
  return [
    ...overviewRoutes({ queries, snapshot, attention, now }),
    ...requestRoutes({ queries, keyNames, live, content }),
    ...usageRoutes({ queries, keyNames, now }),
    ...budgetRoutes({ snapshot, budgets, admission, now, clock }),
    ...statisticsRoutes({ statistics: sources.statistics }),
  ];
}
