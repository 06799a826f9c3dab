/** API keys and projects from LiteLLM's virtual keys and teams. LiteLLM stores SHA-256 of a key, as Vexel does. */
import { secretHash } from "../../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import type { NewKey } from "../../../server/storage/ports/key-store.ts";
import { budgetOf, limitsOf } from "../limits.ts";
import { importedKeyId, printableName, type Secret } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { hasContent, isTrue, timeOf } from "./column-values.ts";
import { allowedBy, matches, modelsOf } from "./key-models.ts";
import type { PlannedModels } from "./plan-models.ts";
import { secretOf } from "./plan-upstream.ts";
import type { LitellmSource } from "./source.ts";

interface Team {
  readonly project: string;
  /** Names and patterns. */
  readonly models: readonly string[];
  readonly isBlocked: boolean;
  /** Of the project. */
  readonly settings: JsonObject;
}

/** `now`: Unix milliseconds. */
export function planKeys(
  source: LitellmSource,
  planned: PlannedModels,
  report: Report,
  now: number,
): { readonly keys: readonly NewKey[]; readonly projects: Map<string, JsonObject> } {
  const projects = new Map<string, JsonObject>();
  const teams = new Map<string, Team>();
  for (const [project, row] of namedTeams(source.teams)) {
    const team = planTeam(project, row, planned, report);
    teams.set(String(row.team_id), team);
    projects.set(project, team.settings);
  }
  const budgets = new Map(source.budgets.map((row) => [String(row.budget_id), row]));
  const keys = source.keys.flatMap((row) => {
    const about = report.about(`key ${JSON.stringify(nameOf(row))}`);
    if (hasContent(row.budget_id) && !budgets.has(String(row.budget_id)))
      about.dropped("budget_id", `the budget ${JSON.stringify(row.budget_id)} was not found`);
    return planKey(withBudget(row, budgets), { teams, planned, report: about, now }) ?? [];
  });
  return { keys, projects };
}

/** The teams by the name of their project. Names of projects are unique, those of teams are not. */
function namedTeams(rows: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  const given = ({ team_alias, team_id }: JsonObject): string =>
    printableName(String(team_alias ?? team_id));
  const byName = Map.groupBy(rows, given);
  const sorted = rows.toSorted((a, b) => (String(a.team_id) < String(b.team_id) ? -1 : 1));
  return new Map(
    sorted.map((row) => {
      const name = given(row);
      const isUnique = byName.get(name)?.length === 1;
      return [isUnique ? name : printableName(`${name.slice(0, 100)} ${row.team_id}`), row];
    }),
  );
}

function planTeam(project: string, row: JsonObject, planned: PlannedModels, report: Report): Team {
  const about = report.about(`team ${JSON.stringify(project)}`);
  about.carried("", `project ${JSON.stringify(project)}`);
  const models = allowedBy(row.models);
  if (!models)
    about.dropped(
      "models",
      `${JSON.stringify(row.models)} is no list of names: its keys are refused`,
    );
  const settings = {
    ...ownLimits(row, about),
    ...ownBudget(row, unpricedOf(models ?? [], planned), about),
  };
  reportUnused(row, unusedOfTeam, about);
  return { project, models: models ?? [], isBlocked: isTrue(row.blocked), settings };
}

interface KeyContext {
  readonly teams: ReadonlyMap<string, Team>;
  readonly planned: PlannedModels;
  readonly report: SubjectReport;
  readonly now: number;
}

/** Undefined: the key is not imported, which was reported. */
function planKey(row: JsonObject, { teams, planned, report, now }: KeyContext): NewKey | undefined {
  const hash = String(row.token);
  const team = teams.get(String(row.team_id));
  const expiresAt = timeOf(row.expires);
  const refusal = refusalOf(row, hash, team, expiresAt, now);
  if (refusal !== undefined) {
    report.dropped("", refusal);
    return undefined;
  }
  const allowed = modelsOf(row, team, planned.models, report);
  if (!allowed) return undefined;
  report.carried("token", "by its hash: clients keep the key");
  if (expiresAt !== undefined) report.carried("expires", new Date(expiresAt).toISOString());
  if (team) report.carried("team_id", `project ${JSON.stringify(team.project)}`);
  else if (hasContent(row.team_id))
    report.dropped("team_id", `the team ${JSON.stringify(row.team_id)} was not found`);
  const key: NewKey = {
    id: importedKeyId(hash),
    name: nameOf(row),
    hash,
    hint: printableName(String(row.key_name ?? hash.slice(0, 10))).slice(0, 16),
    models: allowed,
    createdAt: timeOf(row.created_at) ?? now,
    ...(team && { project: team.project }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...ownLimits(row, report),
    ...withUnknownPrice(ownBudget(row, unpricedOf(allowed, planned), report)),
  };
  reportUnused(row, unusedOfKey, report);
  return key;
}

function refusalOf(
  row: JsonObject,
  hash: string,
  team: Team | undefined,
  expiresAt: number | undefined,
  now: number,
): string | undefined {
  if (!/^[0-9a-f]{64}$/.test(hash)) return "not imported: the token is no SHA-256 in hex";
  if (isTrue(row.blocked)) return "not imported: the key is blocked";
  if (team?.isBlocked) return "not imported: its team is blocked";
  if (expiresAt === undefined && hasContent(row.expires))
    return `not imported: its expires ${JSON.stringify(row.expires)} is no time`;
  if (expiresAt !== undefined && expiresAt <= now)
    return `not imported: the key expired at ${new Date(expiresAt).toISOString()}`;
  return undefined;
}

const nameOf = ({ key_alias, key_name, token }: JsonObject): string =>
  printableName(String(key_alias ?? key_name ?? String(token).slice(0, 10)));

const ownLimits = (row: JsonObject, report: SubjectReport) =>
  limitsOf(
    {
      requestsPerMinute: ["rpm_limit", row.rpm_limit],
      tokensPerMinute: ["tpm_limit", row.tpm_limit],
      concurrent: ["max_parallel_requests", row.max_parallel_requests],
    },
    report,
  );

const ownBudget = (row: JsonObject, unpriced: readonly string[], report: SubjectReport) =>
  budgetOf(
    row.max_budget,
    row.budget_duration,
    report,
    unpriced
      .map(
        (name) =>
          `Not enforced for model ${name}: its price is unknown; set price or unknownPrice: refuse`,
      )
      .join(". "),
  );

/** Of the models that may be used, the names of those without a price. */
const unpricedOf = (allowed: readonly string[], { unpriced }: PlannedModels): readonly string[] =>
  [...unpriced].filter((name) => allowed.some((pattern) => matches(pattern, name)));

/** A stored key has all members of its budget. */
const withUnknownPrice = ({ budget }: { budget?: JsonObject }) =>
  budget ? { budget: { ...budget, unknownPrice: "allow" as const } } : {};

/** A key without limits of its own may have those of a row of the budget table. */
const withBudget = (row: JsonObject, budgets: ReadonlyMap<string, JsonObject>): JsonObject => {
  const shared = budgets.get(String(row.budget_id)) ?? {};
  const fields = [
    "max_budget",
    "budget_duration",
    "rpm_limit",
    "tpm_limit",
    "max_parallel_requests",
  ];
  return { ...row, ...Object.fromEntries(fields.map((name) => [name, row[name] ?? shared[name]])) };
};

const budgetsStartAnew = "the budget starts at zero: Vexel counts what it has served itself";
const noUsers = "Vexel's keys belong to projects";

const unusedOfKey: Readonly<Record<string, string>> = {
  spend: budgetsStartAnew,
  user_id: noUsers,
  aliases: "give the model a second name instead",
  config: "Vexel has no configuration of a key",
  permissions: "Vexel has no such permissions",
  metadata: "Vexel stores no metadata of keys",
  tpd_limit: "Vexel has no limit of tokens per day",
  model_max_budget: "Vexel has no budget of a key for one model",
  budget_limits: "Vexel has no budget of a key for one model",
  soft_budget: "Vexel sends events at 80 % and 100 % of a budget",
  allowed_routes: "keys may use all endpoints of their models",
  organization_id: "Vexel has no organizations",
  auto_rotate: "rotate the key in the console",
  object_permission_id: "Vexel has no such permissions",
};

const unusedOfTeam: Readonly<Record<string, string>> = {
  spend: budgetsStartAnew,
  members_with_roles: "add the users to the project in the console",
  metadata: "Vexel stores no metadata of projects",
  tpd_limit: "Vexel has no limit of tokens per day",
  model_max_budget: "Vexel has no budget for one model",
  budget_limits: "Vexel has no budget for one model",
  organization_id: "Vexel has no organizations",
};

/** Columns that are imported, or that say only when and by whom the row was changed. */
const usedColumns: ReadonlySet<string> = new Set([
  "token",
  "key_name",
  "key_alias",
  "team_id",
  "team_alias",
  "models",
  "blocked",
  "expires",
  "max_budget",
  "budget_duration",
  "budget_id",
  "budget_reset_at",
  "rpm_limit",
  "tpm_limit",
  "max_parallel_requests",
  "created_at",
  "created_by",
  "updated_at",
  "updated_by",
  "last_active",
]);

function reportUnused(
  row: JsonObject,
  reasons: Readonly<Record<string, string>>,
  report: SubjectReport,
): void {
  for (const [field, value] of Object.entries(row)) {
    if (usedColumns.has(field) || !hasContent(value)) continue;
    report.dropped(field, reasons[field] ?? "Vexel has no such field");
  }
}

const shortestSafeKey = 16;

/** LiteLLM's master key authenticates clients, too. `resolve` returns undefined if the variable is not set. */
export function planMasterKey(
  given: unknown,
  resolve: (secret: Secret) => string | undefined,
  report: Report,
  now: number,
): NewKey | undefined {
  if (typeof given !== "string" || given === "") return undefined;
  const about = report.about("general_settings.master_key");
  const secret = secretOf(given);
  const text = resolve(secret);
  if (text === undefined) {
    about.dropped("", `set ${secret.variable} during the import to keep it as an API key`);
    return undefined;
  }
  about.approximated("", "an API key for all models; it is no credential of Vexel's admin API");
  const isShort = text.length < shortestSafeKey;
  if (isShort)
    about.approximated(
      "master_key",
      `imported, but it has fewer than ${shortestSafeKey} characters and can be guessed: replace it`,
    );
  const hash = secretHash(text);
  const hint = isShort ? "****" : `${text.slice(0, 3)}...${text.slice(-4)}`;
  return {
    id: importedKeyId(hash),
    name: "litellm master key",
    hash,
    hint,
    models: ["*"],
    createdAt: now,
  };
}
