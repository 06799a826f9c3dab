/** Writes the audit log: who did what, when, from where, and what changed. */
import type { AuditLog, StoredAuditEntry } from "../storage/sql/audit-log.ts";
import { shortenAudited } from "./shorten-audited.ts";

type AuditRecord = Pick<StoredAuditEntry, "actor" | "action"> &
  Partial<Pick<StoredAuditEntry, "subject" | "before" | "after" | "address">>;

export interface Audit {
  record(entry: AuditRecord): Promise<void>;
}

/** `now`: Unix milliseconds. */
export const createAudit = (log: AuditLog, now: () => number): Audit => ({
  record: ({ subject = null, before = null, after = null, address = null, ...entry }) =>
    log.append({
      ...entry,
      // Version 7: ordered by time.
      id: `audit_${Bun.randomUUIDv7().replaceAll("-", "")}`,
      at: now(),
      subject,
      before: shortenAudited(before, after),
      after: shortenAudited(after, before),
      address,
    }),
});
