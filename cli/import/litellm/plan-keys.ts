/** API keys from LiteLLM's virtual keys. LiteLLM stores SHA-256 of a key, as Vexel does. */
import { secretHash } from "../../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { NewKey } from "../../../server/storage/sql/stored-key.ts";
import { importedKeyId, printableName, type Secret } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { hasContent, isTrue, timeOf } from "./column-values.ts";
import { budgetsOf, limitsOfRow, unpricedOf, zeroLimitOf } from "./key-limits.ts";
import { allowedBy, everyModel, type KeyLists, kindsOf, modelsOf } from "./key-models.ts";
import type { PlannedModels } from "./plan-models.ts";
import { accessGroupModels, planTeams, type Team } from "./plan-teams.ts";
import { secretOf } from "./plan-upstream.ts";
import { reportUnused } from "./report-unused.ts";
import type { LitellmSource } from "./source.ts";

/** `now`: Unix milliseconds. */
export function planKeys(
  source: LitellmSource,
  planned: PlannedModels,
  report: Report,
  now: number,
): { readonly keys: readonly NewKey[]; readonly projects: Map<string, JsonObject> } {
  const groupModels = accessGroupModels(source);
  const { teams, users, projects } = planTeams(source, planned, groupModels, report);
  const budgets = new Map(source.budgets.map((row) => [String(row.budget_id), row]));
  const inner = new Map(source.projects.map((row) => [String(row.project_id), row]));
  const context = { teams, users, inner, planned, groupModels, now };
  const keys = source.keys.flatMap((row) => {
    const about = report.about(`key ${JSON.stringify(nameOf(row))}`);
    const budget = budgets.get(String(row.budget_id));
    if (hasContent(row.budget_id) && !budget)
      about.dropped("budget_id", `the budget ${JSON.stringify(row.budget_id)} was not found`);
    if (budget) reportUnused(budget, about, "budget.");
    return planKey(withBudget(row, budget), { ...context, report: about }) ?? [];
  });
  return { keys, projects };
}

interface KeyContext {
  readonly teams: ReadonlyMap<string, Team>;
  readonly users: ReadonlyMap<string, Team>;
  /** LiteLLM's projects, which group keys of a team. */
  readonly inner: ReadonlyMap<string, JsonObject>;
  readonly planned: PlannedModels;
  readonly groupModels: (ids: unknown) => readonly string[];
  readonly report: SubjectReport;
  readonly now: number;
}

/** Undefined: the key is not imported, which was reported. */
function planKey(row: JsonObject, context: KeyContext): NewKey | undefined {
  const { planned, report, now } = context;
  const hash = String(row.token);
  const owner = ownerOf(row, context);
  const inner = context.inner.get(String(row.project_id));
  const expiresAt = timeOf(row.expires);
  const lists = listsOf(row, owner, inner, context);
  const refusal =
    refusalOf(row, hash, expiresAt, now) ??
    owner?.refusal ??
    (isTrue(inner?.blocked) ? "its project is blocked" : undefined) ??
    (typeof lists === "string" ? lists : undefined);
  if (refusal !== undefined || typeof lists === "string") {
    report.dropped("", `not imported: ${refusal}`);
    return undefined;
  }
  const allowed = modelsOf(lists, planned, report);
  if (!allowed) return undefined;
  report.carried("token", "by its hash: clients keep the key");
  if (expiresAt !== undefined) report.carried("expires", new Date(expiresAt).toISOString());
  const project = owner?.project;
  reportOwner(row, owner, lists, context.groupModels(row.access_group_ids), report);
  const key: NewKey = {
    id: importedKeyId(hash),
    name: nameOf(row),
    hash,
    hint: printableName(String(row.key_name ?? hash.slice(0, 10))).slice(0, 16),
    models: allowed,
    createdAt: timeOf(row.created_at) ?? now,
    ...(project !== undefined && { project }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...limitsOfRow(row, report),
    ...withUnknownPrice(budgetsOf(row, unpricedOf(allowed, planned), report)),
  };
  reportUnused(row, report);
  return key;
}

/** A key without a team is limited by its user. */
const ownerOf = (row: JsonObject, { teams, users }: KeyContext): Team | undefined =>
  hasContent(row.team_id) ? teams.get(String(row.team_id)) : users.get(String(row.user_id));

/** The lists of models that limit the key, or why it is refused. */
function listsOf(
  row: JsonObject,
  owner: Team | undefined,
  inner: JsonObject | undefined,
  { groupModels }: KeyContext,
): KeyLists | string {
  const own = allowedBy(row.models, groupModels(row.access_group_ids));
  if (own === undefined) return `its models ${JSON.stringify(row.models)} are no list of names`;
  const kinds = kindsOf(row.allowed_routes);
  if (kinds === undefined || kinds.length === 0)
    return `its allowed_routes ${JSON.stringify(row.allowed_routes)} have no embeddings and images`;
  const ofInner = inner ? allowedBy(inner.models) : everyModel;
  if (!ofInner) return "the models of its project are no list of names";
  const isTeams = own.includes("all-team-models");
  if (!owner && needsTeam(row, own))
    return `its models are those of the team ${JSON.stringify(row.team_id ?? null)}, which was not found`;
  const ofOwner = owner?.models ?? everyModel;
  return { own: isTeams ? ofOwner : own, others: [ofOwner, ofInner], kinds };
}

/** The list of the team is the only one. */
const needsTeam = ({ team_id }: JsonObject, own: readonly string[]): boolean =>
  own.includes("all-team-models") || (hasContent(team_id) && own.includes("*"));

function reportOwner(
  row: JsonObject,
  owner: Team | undefined,
  { kinds }: KeyLists,
  groupModels: readonly string[],
  report: SubjectReport,
): void {
  if (owner?.project !== undefined)
    report.carried(
      hasContent(row.team_id) ? "team_id" : "user_id",
      `project ${JSON.stringify(owner.project)}`,
    );
  else if (hasContent(row.team_id))
    report.dropped("team_id", `the team ${JSON.stringify(row.team_id)} was not found`);
  if (hasContent(row.access_group_ids)) {
    if (groupModels.length > 0) report.carried("access_group_ids", "models");
    else report.dropped("access_group_ids", "these access groups were not found");
  }
  if (hasContent(row.project_id))
    report.dropped("project_id", "Vexel groups keys by team: set its limits and budget on the key");
  if (hasContent(row.allowed_routes))
    report.approximated("allowed_routes", `models: those for ${kinds.join("s and ")}s`);
}

/** Why a key is not imported. */
function refusalOf(
  row: JsonObject,
  hash: string,
  expiresAt: number | undefined,
  now: number,
): string | undefined {
  if (!/^[0-9a-f]{64}$/.test(hash)) return "the token is no SHA-256 in hex";
  if (isTrue(row.blocked)) return "the key is blocked";
  const zero = zeroLimitOf(row);
  if (zero !== undefined) return `its ${zero} is 0, so LiteLLM refuses all of its requests`;
  if (expiresAt === undefined && hasContent(row.expires))
    return `its expires ${JSON.stringify(row.expires)} is no time`;
  if (expiresAt !== undefined && expiresAt <= now)
    return `the key expired at ${new Date(expiresAt).toISOString()}`;
  return undefined;
}

const nameOf = ({ key_alias, key_name, token }: JsonObject): string =>
  printableName(String(key_alias ?? key_name ?? String(token).slice(0, 10)));

/** A stored key has all members of its budget. */
const withUnknownPrice = ({ budget }: { budget?: JsonObject }) =>
  budget ? { budget: { ...budget, unknownPrice: "allow" as const } } : {};

/** A key without limits of its own may have those of a row of the budget table. */
const withBudget = (row: JsonObject, budget: JsonObject = {}): JsonObject => {
  const fields = [
    "max_budget",
    "budget_duration",
    "rpm_limit",
    "tpm_limit",
    "max_parallel_requests",
  ];
  return { ...row, ...Object.fromEntries(fields.map((name) => [name, row[name] ?? budget[name]])) };
};

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
