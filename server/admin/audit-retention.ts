/**
 * Retention of the audit log: deletes old entries, at the start and every hour. Every replica does so; there is no
 * leader election.
 */

import { dayMs, repeat } from "../lib/timers.ts";
import { pruneInSteps } from "../storage/prune-in-steps.ts";
import type { AuditLog } from "../storage/sql/audit-log.ts";

const pruneEveryMs = 3_600_000;

interface AuditRetentionOptions {
  readonly auditLog: AuditLog;
  /** 0: entries are kept forever. */
  readonly days: number;
  /** Unix milliseconds. Replicas share the clock of their database. */
  readonly now: () => number;
  /** Called when a run fails, such as when the database is locked or unreachable. The next run deletes the entries. */
  readonly onError: (error: unknown) => void;
}

/** Returns a function that stops the deletion. */
export function startAuditRetention(options: AuditRetentionOptions): () => unknown {
  const { auditLog, days, now, onError } = options;
  if (days === 0) return () => undefined;
  return repeat(
    { everyMs: pruneEveryMs, isImmediate: true, onFailure: onError },
    async (signal) => {
      const before = now() - days * dayMs;
      await pruneInSteps(signal, (limit) => auditLog.prune(before, limit));
    },
  );
}
