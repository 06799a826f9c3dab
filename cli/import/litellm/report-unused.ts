/** Columns of LiteLLM's keys and teams that are not imported. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { SubjectReport } from "../report.ts";
import { hasContent } from "./column-values.ts";
import { isProtectedColumn } from "./row-losses.ts";
import { objectOf } from "./source.ts";

const budgetsStartAnew =
  "a budget in total is imported without it; budgets of days and months start at zero";

const reasons: Readonly<Record<string, string>> = {
  spend: budgetsStartAnew,
  total_spend: budgetsStartAnew,
  model_spend: budgetsStartAnew,
  user_id: "Vexel's keys belong to projects",
  aliases: "aliases of one key are not served",
  config: "Vexel has no configuration of a key",
  router_settings: "Vexel routes all keys alike",
  permissions: "Vexel has no such permissions",
  object_permission_id: "Vexel has no such permissions",
  budget_fallbacks: "Vexel refuses requests above a budget",
  soft_budget: "Vexel sends events at 50, 80 and 100 % of a budget",
  temp_budget_increase: "the budget is imported without it",
  organization_id: "Vexel has no organizations",
  auto_rotate: "rotate the key in the console",
  members_with_roles: "add the users to the project in the console",
  model_id: "aliases of one team are not served",
  "metadata.tags": "send them in the header vexel-tags",
  "metadata.end_user_budget_id": "set perEndUser of the project",
};

/** Columns that are imported, or that say only when and by whom the row was changed. */
const usedColumns: ReadonlySet<string> = new Set([
  "token",
  "allowed_models",
  "key_name",
  "key_alias",
  "team_id",
  "team_alias",
  "project_id",
  "access_group_ids",
  "models",
  "allowed_routes",
  "key_type",
  "blocked",
  "expires",
  "max_budget",
  "budget_duration",
  "budget_limits",
  "budget_id",
  "budget_reset_at",
  "rpm_limit",
  "tpm_limit",
  "max_parallel_requests",
  "user_alias",
  "user_email",
  "user_role",
  "teams",
  "password",
  "created_at",
  "created_by",
  "updated_at",
  "updated_by",
  "settings_updated_at",
  "last_active",
]);

const usedMetadata: ReadonlySet<string> = new Set(["team_member_budget_id", "scim_active"]);

/** `prefix`: of the names of the columns. */
export function reportUnused(row: JsonObject, report: SubjectReport, prefix = ""): void {
  for (const [column, value] of Object.entries(row)) {
    if (usedColumns.has(column) || isProtectedColumn(column) || !hasContent(value)) continue;
    if (column === "metadata") {
      for (const [name, member] of Object.entries(metadataOf(value)))
        if (hasContent(member) && !usedMetadata.has(name))
          drop(`metadata.${name}`, "Vexel stores no metadata");
    } else drop(column, "Vexel has no such field");
  }
  function drop(column: string, reason: string): void {
    if (!isProtectedColumn(column)) report.dropped(`${prefix}${column}`, reasons[column] ?? reason);
  }
}

/** An export may have JSON as text. */
function metadataOf(value: unknown): JsonObject {
  if (typeof value !== "string") return objectOf(value);
  try {
    return objectOf(JSON.parse(value));
  } catch {
    return { text: value };
  }
}
