/** /projects/:id/statements: what a project cost in each closed month. */
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import { statementSchema } from "../../../contract/admin/statements.ts";
import type { Statement } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { roundDollars } from "../../lib/nano-dollars.ts";
import { dayMs } from "../../lib/timers.ts";
import type { StoredStatement } from "../../storage/sql/statement-store.ts";
import { maySeeProject } from "../actor.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { idOf } from "../entities/change-entities.ts";
import { notFound } from "../entities/entity-errors.ts";
import { rangeOfMonth, writeStatement } from "../reads/write-statement.ts";

/** Rows of a replica that was killed arrive when it starts again: a month is closed a day after its end. */
const closedAfterMs = dayMs;

export function statementRoutes(dependencies: AdminDependencies): readonly AdminRoute[] {
  const { statements, queries, snapshot, now } = dependencies;

  /** The project of the path, if the actor may see it. */
  const projectOf = (context: AdminApiContext): string => {
    const id = idOf(context);
    if (maySeeProject(context.get("actor"), id)) return id;
    throw notFound({ kind: "project", id });
  };

  /** The statements of all closed months with requests. Those that are missing are written now. */
  const allOf = async (project: string): Promise<readonly StoredStatement[]> => {
    const stored = await statements.list(project);
    const known = new Set(stored.map(({ month }) => month));
    const { groups } = await queries.usage({
      project,
      from: 0,
      to: now(),
      interval: "month",
      limit: listBounds.statements,
    });
    const missing = groups
      .map(({ from }) => new Date(from).toISOString().slice(0, 7))
      .filter((month) => !known.has(month) && rangeOfMonth(month).to + closedAfterMs <= now());
    for (const month of missing) {
      const key = { project, month, createdAt: now() };
      const { statement, csv } = await writeStatement(dependencies, key);
      await statements.create(statement, csv);
    }
    return missing.length === 0 ? stored : statements.list(project);
  };

  const list = async (context: AdminApiContext): Promise<Response> => {
    const project = projectOf(context);
    const all = await allOf(project);
    // A deleted project keeps its statements.
    if (all.length === 0 && !snapshot().projects?.has(project)) {
      throw notFound({ kind: "project", id: project });
    }
    const data = all.slice(0, listBounds.statements).map(shownStatement);
    return context.json({ object: "list", data, next_cursor: null });
  };

  const download = async (context: AdminApiContext): Promise<Response> => {
    const project = projectOf(context);
    const month = context.req.param("month") ?? "";
    const csv =
      (await statements.csv(project, month)) ??
      ((await allOf(project)).length > 0 ? await statements.csv(project, month) : undefined);
    if (csv === undefined) throw new GatewayError("entity_not_found", message("no_statement"));
    const name = `statement-${encodeURIComponent(project)}-${month}.csv`;
    return context.body(csv, 200, {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="${name}"`,
    });
  };

  const route = { method: "GET", needs: "view", scope: "project" } as const;
  return [
    {
      ...route,
      path: "/projects/:id/statements",
      summary: "List the statements of a project: what it cost in each closed month.",
      response: pageSchema(statementSchema, listBounds.statements),
      handle: list,
    },
    {
      ...route,
      path: "/projects/:id/statements/:month",
      summary: "Download a statement as CSV, by API key, model and tags.",
      response: "text/csv",
      handle: download,
    },
  ];
}

const shownStatement = (statement: StoredStatement): Statement => ({
  object: "statement",
  project: statement.project,
  month: statement.month,
  created_at: new Date(statement.createdAt).toISOString(),
  requests: statement.requests,
  requests_without_cost: statement.unpriced,
  cost: statement.cost,
  estimated_cost: statement.estimatedCost,
  charged: roundDollars(statement.cost + statement.estimatedCost),
});
