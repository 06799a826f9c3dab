/**
 * Port: the audit log. It is append-only: entries are never changed. It has no hash chain, so it is not
 * tamper-evident.
 */
import type { PageRequest, StoredPage } from "./page.ts";

export interface StoredAuditEntry {
  /** Grows with time: lists are ordered by it. */
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly actor: string;
  /** Such as `upstream.updated`. */
  readonly action: string;
  readonly subject: string | null;
  /** JSON without secrets. */
  readonly before: unknown;
  readonly after: unknown;
  readonly address: string | null;
}

export interface AuditFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
}

/** Every method rejects once the store is closed. */
export interface AuditLog {
  append(entry: StoredAuditEntry): Promise<void>;
  /** Newest first. */
  list(filter: AuditFilter, page: PageRequest): Promise<StoredPage<StoredAuditEntry>>;
  /**
   * Deletes at most `limit` entries older than `before` (Unix milliseconds), the oldest first. True: there may be more.
   */
  prune(before: number, limit: number): Promise<boolean>;
}
