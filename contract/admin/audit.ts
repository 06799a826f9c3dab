/** The audit log. */
export interface AuditEntry {
  readonly object: "audit_entry";
  readonly id: string;
  readonly at: string;
  /** A user's name, or `admin token`. */
  readonly actor: string;
  /** Such as `upstream.updated` or `session.created`. */
  readonly action: string;
  readonly subject: string | null;
  /** Secrets are masked in both. */
  readonly before: unknown;
  readonly after: unknown;
  readonly address: string | null;
}
