/** Projects from LiteLLM's teams, and from its users whose keys share limits or a budget. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { ImportedFrom } from "../../../server/storage/sql/stored-key.ts";
import { printableName } from "../plan.ts";
import type { Report } from "../report.ts";
import { hasContent, isTrue, namesOf } from "./column-values.ts";
import { budgetsOf, limitsOfRow, unpricedOf, zeroLimitOf } from "./key-limits.ts";
import { allowedBy } from "./key-models.ts";
import type { PlannedModels } from "./plan-models.ts";
import { reportUnused } from "./report-unused.ts";
import type { LitellmSource } from "./source.ts";

export interface Team {
  /** Of the table of teams or users. */
  readonly row: JsonObject;
  /** Undefined if a user without limits, who needs no project. */
  readonly project: string | undefined;
  /** Names, patterns and access groups. */
  readonly models: readonly string[];
  /** Why its keys are refused. */
  readonly refusal: string | undefined;
  /** Limits and budget of the project, before what was spent. */
  readonly given?: NonNullable<ImportedFrom["project"]>;
}

interface PlannedTeams {
  readonly teams: ReadonlyMap<string, Team>;
  readonly users: ReadonlyMap<string, Team>;
  readonly projects: Map<string, JsonObject>;
}

const limitColumns = [
  "max_budget",
  "budget_limits",
  "rpm_limit",
  "tpm_limit",
  "max_parallel_requests",
];

/** A key without a team is limited by its user. */
export function planTeams(
  source: LitellmSource,
  planned: PlannedModels,
  groupModels: (ids: unknown) => readonly string[],
  report: Report,
): PlannedTeams {
  const owners = new Set(
    source.keys.filter((row) => !hasContent(row.team_id)).map(({ user_id }) => String(user_id)),
  );
  const isLimited = (row: JsonObject): boolean =>
    owners.has(String(row.user_id)) && limitColumns.some((name) => hasLimit(row[name]));
  const [limited = [], others = []] = [
    source.users.filter(isLimited),
    source.users.filter((row) => !isLimited(row)),
  ];
  const rows = [
    ...source.teams.map((row) => ({ row, id: String(row.team_id), name: row.team_alias })),
    ...limited.map((row) => ({
      row,
      id: String(row.user_id),
      name: row.user_alias ?? row.user_email,
    })),
  ];
  const projects = new Map<string, JsonObject>();
  const planned_ = [...namedRows(rows)].map(([project, { row, id }]): [string, Team] => {
    const isUser = limited.includes(row);
    const about = report.about(`${isUser ? "user" : "team"} ${JSON.stringify(project)}`);
    about.carried("", `project ${JSON.stringify(project)}`);
    const models = allowedBy(row.models, groupModels(row.access_group_ids));
    if (!models)
      about.dropped(
        "models",
        `${JSON.stringify(row.models)} is no list of names: its keys are refused`,
      );
    const limits = limitsOfRow(row, about);
    const { budget, given } = budgetsOf(row, unpricedOf(models ?? [], planned), about);
    projects.set(project, { ...limits, ...(budget && { budget }) });
    reportUnused(row, about);
    const zero = zeroLimitOf(row);
    const owner = isUser ? "user" : "team";
    const refusal = isTrue(row.blocked)
      ? `its ${owner} is blocked`
      : zero && `the ${zero} of its ${owner} is 0`;
    return [
      id,
      {
        row,
        project,
        models: models ?? [],
        refusal: refusal || undefined,
        given: { ...limits, ...(given && { budget: given }) },
      },
    ];
  });
  const teamIds = new Set(source.teams.map(({ team_id }) => String(team_id)));
  return {
    teams: new Map(planned_.filter(([id]) => teamIds.has(id))),
    users: new Map([
      ...planned_.filter(([id]) => !teamIds.has(id)),
      ...others.map((row): [string, Team] => [
        String(row.user_id),
        { row, project: undefined, models: allowedBy(row.models) ?? [], refusal: undefined },
      ]),
    ]),
    projects,
  };
}

const hasLimit = (value: unknown): boolean => value === 0 || hasContent(value);

interface NamedRow {
  readonly row: JsonObject;
  readonly id: string;
  readonly name: unknown;
}

/** The rows by the name of their project. Names of projects are unique, those of teams are not. */
function namedRows(rows: readonly NamedRow[]): ReadonlyMap<string, NamedRow> {
  const given = ({ name, id }: NamedRow): string => printableName(String(name ?? id));
  const byName = Map.groupBy(rows, given);
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return new Map(
    sorted.map((row) => {
      const name = given(row);
      const isUnique = byName.get(name)?.length === 1;
      return [isUnique ? name : printableName(`${name.slice(0, 100)} ${row.id}`), row];
    }),
  );
}

/** Models of access groups by the ids of the groups. */
export function accessGroupModels({
  accessGroups,
}: Pick<LitellmSource, "accessGroups">): (ids: unknown) => readonly string[] {
  const models = new Map(
    accessGroups.map((row) => [String(row.access_group_id), namesOf(row.access_model_names) ?? []]),
  );
  return (ids) => (namesOf(ids) ?? []).flatMap((id) => models.get(id) ?? []);
}
