/** API keys from LiteLLM's virtual keys. LiteLLM stores SHA-256 of a key, as Vexel does. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { FoundLoss } from "../losses.ts";
import { importedKeyId, type PlannedKey, printableName } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { hasContent, isTrue, timeOf } from "./column-values.ts";
import { aliasesOfKey } from "./key-aliases.ts";
import { budgetsOf, limitsOfRow, strictest, unpricedOf, zeroLimitOf } from "./key-limits.ts";
import { allowedBy, everyModel, type KeyLists, modelsOf, routesOf } from "./key-models.ts";
import { type Member, membersOf } from "./plan-members.ts";
import type { PlannedModels } from "./plan-models.ts";
import { accessGroupModels, planTeams, type Team } from "./plan-teams.ts";
import { reportUnused } from "./report-unused.ts";
import { organizationLosses, projectLosses, rowLosses, userLosses } from "./row-losses.ts";
import { siteLosses } from "./site-losses.ts";
import { jsonOf, type LitellmSource } from "./source.ts";
import { unknownColumns } from "./unknown-columns.ts";

/** `now`: Unix milliseconds. */
export function planKeys(
  source: LitellmSource,
  planned: PlannedModels,
  report: Report,
  now: number,
): { readonly keys: readonly PlannedKey[]; readonly projects: Map<string, JsonObject> } {
  const groupModels = accessGroupModels(source);
  const { teams, users, projects } = planTeams(source, planned, groupModels, report);
  const budgets = rowsById(source.budgets, "budget_id");
  const context = {
    source,
    teams,
    users,
    budgets,
    userRows: rowsById(source.users, "user_id"),
    inner: rowsById(source.projects, "project_id"),
    organizations: rowsById(source.organizations, "organization_id"),
    memberOf: membersOf(source, rowsById(source.teams, "team_id")),
    planned,
    groupModels,
    ofSite: siteLosses(source),
    now,
  };
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

type Rows = ReadonlyMap<string, JsonObject>;

const rowsById = (rows: readonly JsonObject[], id: string): Rows =>
  new Map(rows.map((row) => [String(row[id]), row]));

interface KeyContext {
  readonly source: LitellmSource;
  readonly teams: ReadonlyMap<string, Team>;
  readonly users: ReadonlyMap<string, Team>;
  readonly budgets: Rows;
  readonly userRows: Rows;
  /** LiteLLM's projects, which group keys of a team. */
  readonly inner: Rows;
  readonly organizations: Rows;
  readonly memberOf: (key: JsonObject) => Member | undefined;
  readonly planned: PlannedModels;
  readonly groupModels: (ids: unknown) => readonly string[];
  /** Protections of all keys. */
  readonly ofSite: readonly FoundLoss[];
  readonly report: SubjectReport;
  readonly now: number;
}

/** Undefined if the key is not imported, which was reported. */
function planKey(row: JsonObject, context: KeyContext): PlannedKey | undefined {
  const { planned, report, now } = context;
  const hash = String(row.token);
  const owner = ownerOf(row, context);
  const member = context.memberOf(row);
  const inner = context.inner.get(String(row.project_id));
  const expiresAt = timeOf(row.expires);
  const lists = listsOf(row, owner, inner, member, context);
  const refusal =
    refusalOf(row, hash, expiresAt, now) ?? refusalOfOwners(row, { owner, inner, member }, context);
  if (refusal !== undefined || typeof lists === "string") {
    report.refused(refusal ?? String(lists));
    return undefined;
  }
  if (!report.lost(lossesOf(row, owner, inner, member, lists, context))) return undefined;
  const allowed = modelsOf(lists, planned, report);
  if (!allowed) return undefined;
  report.carried("token", "by its hash: clients keep the key");
  const ends = expiresAt === undefined ? {} : { expiresAt };
  if (expiresAt !== undefined) report.carried("expires", new Date(expiresAt).toISOString());
  const project = owner?.project;
  reportOwner(row, owner, lists, context.groupModels(row.access_group_ids), report);
  const limits = strictest(
    limitsOfRow(row, report),
    member?.budget ? limitsOfRow(member.budget, report) : {},
  );
  const unpriced = unpricedOf(allowed, planned);
  const { budget, given } = budgetsOf(row, unpriced, report, budgetsOfMember(member));
  reportUnused(row, report);
  return {
    id: importedKeyId(hash),
    name: nameOf(row),
    hash,
    hint: printableName(String(row.key_name ?? hash.slice(0, 10))).slice(0, 16),
    models: allowed,
    createdAt: timeOf(row.created_at) ?? now,
    ...(project !== undefined && { project }),
    ...ends,
    ...limits,
    ...(budget && { budget: { ...budget, unknownPrice: "allow" } }),
    imported: {
      source: "litellm",
      models: allowed,
      ...limits,
      ...(given && { budget: given }),
      ...ends,
      ...(owner?.given && { project: owner.given }),
    },
  };
}

interface Owners {
  readonly owner: Team | undefined;
  readonly inner: JsonObject | undefined;
  readonly member: Member | undefined;
}

/** Why a key is refused because of its user, team, member or project. */
function refusalOfOwners(
  row: JsonObject,
  { owner, inner, member }: Owners,
  { userRows }: KeyContext,
): string | undefined {
  if (isDeactivated(userRows.get(String(row.user_id)))) return "its user was deactivated by SCIM";
  if (owner?.refusal !== undefined) return owner.refusal;
  if (isTrue(inner?.blocked)) return "its project is blocked";
  const zero = member?.budget && zeroLimitOf(member.budget);
  return zero === undefined ? undefined : `the ${zero} of its member is 0`;
}

/** SCIM deactivates the user of somebody who has left. */
const isDeactivated = (user: JsonObject | undefined): boolean =>
  jsonOf(user?.metadata).scim_active === false;

const budgetsOfMember = (member: Member | undefined) =>
  member?.budget
    ? [
        {
          field: "member.max_budget",
          max: member.budget.max_budget,
          duration: member.budget.budget_duration,
          spent: member.spend,
        },
      ]
    : [];

function lossesOf(
  row: JsonObject,
  owner: Team | undefined,
  inner: JsonObject | undefined,
  member: Member | undefined,
  { hasNoEdits }: KeyLists,
  { ofSite, budgets, organizations, userRows }: KeyContext,
): readonly FoundLoss[] {
  const organization = organizations.get(
    String(hasContent(row.organization_id) ? row.organization_id : owner?.row.organization_id),
  );
  return [
    ...ofSite,
    ...rowLosses(row),
    ...unknownColumns(row),
    ...unknownColumns(owner?.row, hasContent(row.team_id) ? "team." : "user."),
    ...rowLosses(budgets.get(String(row.budget_id)), "budget."),
    ...rowLosses(owner?.row, hasContent(row.team_id) ? "team." : "user."),
    ...(member?.losses ?? []),
    ...(hasContent(row.team_id) ? userLosses(userRows.get(String(row.user_id))) : []),
    ...projectLosses(inner, budgets.get(String(inner?.budget_id))),
    ...organizationLosses(organization, budgets.get(String(organization?.budget_id))),
    ...(hasNoEdits
      ? [
          {
            loss: "image-edits",
            field: "allowed_routes",
            note: "Vexel's models for images have generations and edits",
          } as const,
        ]
      : []),
  ];
}

/** A key without a team is limited by its user. */
const ownerOf = (row: JsonObject, { teams, users }: KeyContext): Team | undefined =>
  hasContent(row.team_id) ? teams.get(String(row.team_id)) : users.get(String(row.user_id));

/** The lists of models that limit the key, or why it is refused. */
function listsOf(
  row: JsonObject,
  owner: Team | undefined,
  inner: JsonObject | undefined,
  member: Member | undefined,
  { groupModels, source }: KeyContext,
): KeyLists | string {
  const own = allowedBy(row.models, groupModels(row.access_group_ids));
  if (own === undefined) return `its models ${JSON.stringify(row.models)} are no list of names`;
  const routes = routesOf(row.allowed_routes);
  if (routes === undefined || routes.kinds.length === 0)
    return `its allowed_routes ${JSON.stringify(row.allowed_routes)} have no embeddings and images`;
  const ofInner = inner ? allowedBy(inner.models) : everyModel;
  if (!ofInner) return "the models of its project are no list of names";
  const ofMember = member ? member.models : everyModel;
  if (!ofMember) return "the models of its member are no list of names";
  if (hasContent(jsonOf(row.config))) return "it has a configuration of its own (config)";
  const isTeams = own.includes("all-team-models");
  if (!owner && needsTeam(row, own))
    return `its models are those of the team ${JSON.stringify(row.team_id ?? null)}, which was not found`;
  const ofOwner = owner?.models ?? everyModel;
  return {
    own: isTeams ? ofOwner : own,
    others: [ofOwner, ofMember, ofInner],
    ...routes,
    aliased: aliasesOfKey(row, hasContent(row.team_id) ? owner?.row : undefined, source),
  };
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
    if (groupModels.length > 0 && hasContent(row.team_id))
      report.approximated(
        "access_group_ids",
        "models that its team has, too; LiteLLM also permits the others of the group",
      );
    else if (groupModels.length > 0) report.carried("access_group_ids", "models");
    else report.dropped("access_group_ids", "these access groups were not found");
  }
  if (hasContent(row.project_id))
    report.approximated("project_id", "Vexel groups keys by team: models, those of the project");
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
