/** /audit: the audit log. */
import type { AuditEntry } from "../../../contract/admin.ts";
import type { AuditLog, StoredAuditEntry } from "../../storage/ports/audit-log.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readPage } from "../read-page.ts";

export function auditRoutes(audit: AuditLog): readonly AdminRoute[] {
  const list = async (context: AdminApiContext): Promise<Response> => {
    const { actor, action } = context.req.query();
    const { entries, next } = await audit.list(
      { actor: actor || undefined, action: action || undefined },
      readPage(context),
    );
    return context.json({
      object: "list",
      data: entries.map(shownEntry),
      next_cursor: next ?? null,
    });
  };
  return [{ method: "GET", path: "/audit", role: "admin", handle: list }];
}

const shownEntry = ({ at, ...entry }: StoredAuditEntry): AuditEntry => ({
  object: "audit_entry",
  ...entry,
  at: new Date(at).toISOString(),
});
