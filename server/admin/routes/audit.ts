/** /audit: the audit log, as pages and as CSV. */
import { z } from "zod";
import { auditEntrySchema } from "../../../contract/admin/audit.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type { AuditEntry } from "../../../contract/admin.ts";
import type { AuditFilter, AuditLog, StoredAuditEntry } from "../../storage/sql/audit-log.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { nextCursor, pageQuery, readPage } from "../read-page.ts";
import { readQuery } from "../read-query.ts";
import { time } from "../reads/request-filter.ts";
import { csvLine } from "../reads/usage-csv.ts";
import { respondWithCsv } from "../respond-with-csv.ts";

const filters = {
  actor: z.string().max(200).optional().describe("A user's name or `admin token`."),
  action: z
    .string()
    .max(200)
    .optional()
    .describe("An action, such as `key.created`, or all of a kind, such as `key.*`."),
  subject: z.string().max(300).optional().describe("The name or the id of what was changed."),
  from: time("Only entries from this time on."),
  to: time("Only entries before this time."),
};
const auditQuery = pageQuery.extend(filters);
const csvQuery = z.object(filters);

/** An export has the newest ones, and the filters choose others. */
const [maxExported, entriesOfStep] = [50_000, 500];

export function auditRoutes(audit: AuditLog): readonly AdminRoute[] {
  const list = async (context: AdminApiContext): Promise<Response> => {
    const filter = filterOf(readQuery(context, auditQuery));
    const { entries, next } = await audit.list(filter, readPage(context));
    return context.json({
      object: "list",
      data: entries.map(shownEntry),
      next_cursor: nextCursor(context, next),
    });
  };

  async function* csvLines(filter: AuditFilter): AsyncGenerator<string> {
    yield csvLine(columns);
    let cursor: string | undefined;
    for (let written = 0; written < maxExported; written += entriesOfStep) {
      const { entries, next } = await audit.list(filter, { cursor, limit: entriesOfStep });
      if (entries.length > 0) yield entries.map(lineOf).join("");
      if (next === undefined) return;
      cursor = next;
    }
  }

  const download = async (context: AdminApiContext): Promise<Response> =>
    respondWithCsv(context, "audit.csv", csvLines(filterOf(readQuery(context, csvQuery))));

  const route = { method: "GET", needs: "administer", scope: "all-projects" } as const;
  return [
    {
      ...route,
      path: "/audit",
      summary: "List the entries of the audit log, newest first.",
      query: auditQuery,
      response: pageSchema(auditEntrySchema, listBounds.page),
      handle: list,
    },
    {
      ...route,
      path: "/audit.csv",
      summary: "Download the entries of the audit log as CSV, newest first.",
      query: csvQuery,
      response: "text/csv",
      handle: download,
    },
  ];
}

const filterOf = (query: z.output<typeof csvQuery>): AuditFilter => ({
  actor: query.actor,
  action: query.action,
  subject: query.subject,
  from: query.from,
  to: query.to,
});

const columns = ["at", "actor", "action", "subject", "before", "after", "address"] as const;

const lineOf = ({ at, actor, action, subject, before, after, address }: StoredAuditEntry): string =>
  csvLine([
    new Date(at).toISOString(),
    actor,
    action,
    subject,
    before === null ? null : JSON.stringify(before),
    after === null ? null : JSON.stringify(after),
    address,
  ]);

const shownEntry = ({ at, ...entry }: StoredAuditEntry): AuditEntry => ({
  object: "audit_entry",
  ...entry,
  at: new Date(at).toISOString(),
});
