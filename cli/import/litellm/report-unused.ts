/** Columns of LiteLLM's keys and teams that are not imported. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { SubjectReport } from "../report.ts";
import { hasContent } from "./column-values.ts";
import { isProtectedColumn } from "./row-losses.ts";
import { objectOf } from "./source.ts";

const budgetsStartAnew =
  "subtracted from a budget in total; budgets of days and months start at zero";

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

/** Columns without a protection, which have a line if they have a value. */
const harmlessColumns: ReadonlySet<string> = new Set([
  "admins",
  "allow_team_guardrail_config",
  "allowed_cache_controls",
  "default_team_member_models",
  "key_rotation_at",
  "last_breach_check_at",
  "last_rotation_at",
  "litellm_model_table",
  "members",
  "metadata",
  "object_permission",
  "password_reset_required",
  "rotation_count",
  "rotation_interval",
  "soft_budget_cooldown",
  "sso_user_id",
  "team_member_permissions",
  "temp_budget_expiry",
  "updated",
]);

/** A column that a later version of LiteLLM has may be a protection. */
export const isKnownColumn = (name: string): boolean =>
  usedColumns.has(name) ||
  harmlessColumns.has(name) ||
  Object.hasOwn(reasons, name) ||
  isProtectedColumn(name);

const usedMetadata: ReadonlySet<string> = new Set(["team_member_budget_id", "scim_active"]);

/** `prefix`: of the names of the columns. */
export function reportUnused(row: JsonObject, report: SubjectReport, prefix = ""): void {
  for (const [column, value] of Object.entries(row)) {
    if (!hasContent(value)) continue;
    if (column === "metadata") reportMetadata(metadataOf(value), report, prefix);
    else if (harmlessColumns.has(column) || Object.hasOwn(reasons, column))
      report.dropped(`${prefix}${column}`, reasons[column] ?? "Vexel has no such field");
  }
}

function reportMetadata(metadata: JsonObject, report: SubjectReport, prefix: string): void {
  for (const [name, value] of Object.entries(metadata)) {
    const column = `metadata.${name}`;
    if (hasContent(value) && !usedMetadata.has(name) && !isProtectedColumn(column))
      report.dropped(`${prefix}${column}`, reasons[column] ?? "Vexel stores no metadata");
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
