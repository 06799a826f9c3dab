/** Protections in rows of LiteLLM: of a key, and of the team, user, project and organization that it belongs to. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { FoundLoss, Loss } from "../losses.ts";
import { hasContent, namesOf } from "./column-values.ts";
import { jsonOf } from "./source.ts";

/** Columns and members of `metadata`. */
const columns: Readonly<Record<string, Loss>> = {
  agent_id: "agents",
  policies: "policies",
  model_max_budget: "model-limits",
  model_rpm_limit: "model-limits",
  model_tpm_limit: "model-limits",
  tpd_limit: "token-limits",
  "metadata.guardrails": "guardrails",
  "metadata.policies": "policies",
  "metadata.enforced_params": "enforced-params",
  "metadata.require_trace_id": "enforced-params",
  "metadata.model_rpm_limit": "model-limits",
  "metadata.model_tpm_limit": "model-limits",
  "metadata.model_max_parallel_requests": "model-limits",
};

/** `prefix`: of the names of the columns in the report. */
export function rowLosses(row: JsonObject | undefined, prefix = ""): readonly FoundLoss[] {
  if (!row) return [];
  const metadata = jsonOf(row.metadata);
  return Object.entries(columns).flatMap(([name, loss]) => {
    const value = name.startsWith("metadata.") ? metadata[name.slice(9)] : row[name];
    return hasContent(parsed(value))
      ? [{ loss, field: `${prefix}${name}`, note: "Vexel does not have it" }]
      : [];
  });
}

/** Whether a column is reported as a lost protection. */
export const isProtectedColumn = (name: string): boolean => Object.hasOwn(columns, name);

/** An export may have JSON as text, and lists in the notation of PostgreSQL. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

const limits = [
  "max_budget",
  "max_parallel_requests",
  "tpm_limit",
  "rpm_limit",
  "tpd_limit",
  "model_max_budget",
];

/** The limits that a row of the budget table has. */
export const budgetNames = (row: JsonObject | undefined): readonly string[] =>
  row ? limits.filter((name) => row[name] === 0 || hasContent(parsed(row[name]))) : [];

/** LiteLLM also applies the rates of its user to a key of a team. */
export const userLosses = (user: JsonObject | undefined): readonly FoundLoss[] => {
  const names = ["rpm_limit", "tpm_limit"].filter(
    (name) => user?.[name] !== null && user?.[name] !== undefined,
  );
  return names.length === 0
    ? []
    : [
        {
          loss: "member-budgets",
          field: "user_id",
          note: `the ${names.join(", ")} of its user, which other keys share`,
        },
      ];
};

/** LiteLLM checks the organization of a key, or else of its team. */
export function organizationLosses(
  organization: JsonObject | undefined,
  budget: JsonObject | undefined,
): readonly FoundLoss[] {
  const names = [
    ...((namesOf(organization?.models)?.length ?? 1) > 0 && organization ? ["models"] : []),
    ...budgetNames(budget),
  ];
  return names.length === 0
    ? []
    : [{ loss: "organizations", field: "organization_id", note: `its ${names.join(", ")}` }];
}

/** LiteLLM's projects group keys of a team. */
export function projectLosses(
  project: JsonObject | undefined,
  budget: JsonObject | undefined,
): readonly FoundLoss[] {
  const names = budgetNames(budget);
  return [
    ...rowLosses(project, "project."),
    ...(names.length === 0
      ? []
      : [
          { loss: "shared-budgets", field: "project_id", note: `its ${names.join(", ")}` } as const,
        ]),
  ];
}
