/** /audit: the audit log. */
import { z } from "zod";
import { auditEntrySchema } from "../../../contract/admin/audit.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { AuditEntry } from "../../../contract/admin.ts";
import type { AuditLog, StoredAuditEntry } from "../../storage/sql/audit-log.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { readQuery } from "../read-query.ts";

const auditQuery = pageQuery.extend({
  actor: z.string().max(200).optional().describe("A user's name or `admin token`."),
  action: z.string().max(200).optional().describe("An action, such as `key.created`."),
});

export function auditRoutes(audit: AuditLog): readonly AdminRoute[] {
  const list = async (context: AdminApiContext): Promise<Response> => {
    const { actor, action } = readQuery(context, auditQuery);
    const { entries, next } = await audit.list({ actor, action }, readPage(context));
    return context.json({
      object: "list",
      data: entries.map(shownEntry),
      next_cursor: nextCursor(context, next),
    });
  };
  return [
    {
      method: "GET",
      path: "/audit",
      needs: "administer",
      scope: "all-projects",
      summary: "List the entries of the audit log, newest first.",
      query: auditQuery,
      response: pageSchema(auditEntrySchema, listBounds.page),
      handle: list,
    },
  ];
}

const shownEntry = ({ at, ...entry }: StoredAuditEntry): AuditEntry => ({
  object: "audit_entry",
  ...entry,
  at: new Date(at).toISOString(),
});
