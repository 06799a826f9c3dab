/** The models that an imported key may use: LiteLLM checks the list of the key and the list of its team. */
import type { JsonObject } from "../../../server/storage/ports/config-entity-store.ts";
import type { SubjectReport } from "../report.ts";
import { namesOf } from "./column-values.ts";

const everyModel: readonly string[] = ["*"];

/** Names and patterns of the models that a list of LiteLLM allows. Undefined: the list cannot be read. */
export function allowedBy(value: unknown): readonly string[] | undefined {
  const names = namesOf(value);
  if (names === undefined || names.includes("no-default-models")) return names && [];
  return names.length === 0 || names.includes("all-proxy-models") ? everyModel : names;
}

interface TeamOfKey {
  readonly models: readonly string[];
}

/** Undefined: the key may use no imported model, which was reported. */
export function modelsOf(
  row: JsonObject,
  team: TeamOfKey | undefined,
  imported: ReadonlyMap<string, unknown>,
  report: SubjectReport,
): readonly string[] | undefined {
  const given = givenModels(row, team);
  if (typeof given === "string") {
    report.dropped("", `not imported: ${given}`);
    return undefined;
  }
  if (given.includes("*")) {
    report.carried("models", "all models");
    return everyModel;
  }
  const known = given.filter((name) => imported.has(name) || name.includes("*"));
  const others = given.filter((name) => !known.includes(name));
  if (known.length === 0) {
    report.dropped("", `not imported: Vexel serves none of its models (${others.join(", ")})`);
    return undefined;
  }
  if (others.length > 0) report.dropped("models", `not served: ${others.join(", ")}`);
  report.carried("models", known.join(", "));
  return known;
}

/** The models, or why there are none. */
function givenModels(
  { models, team_id }: JsonObject,
  team: TeamOfKey | undefined,
): readonly string[] | string {
  const own = allowedBy(models);
  if (own === undefined) return `its models ${JSON.stringify(models)} are no list of names`;
  const isTeams = own.includes("all-team-models");
  if (!team && (isTeams || (team_id && own.includes("*"))))
    return `its models are those of the team ${JSON.stringify(team_id ?? null)}, which was not found`;
  const ofTeam = team?.models ?? everyModel;
  const both = isTeams ? ofTeam : intersection(own, ofTeam);
  return both.length === 0 ? "the key may use no model" : both;
}

const intersection = (a: readonly string[], b: readonly string[]): readonly string[] => [
  ...new Set([
    ...a.filter((name) => b.some((pattern) => matches(pattern, name))),
    ...b.filter((name) => a.some((pattern) => matches(pattern, name))),
  ]),
];

/** `*` in a pattern stands for any text. */
export const matches = (pattern: string, name: string): boolean =>
  new RegExp(`^${pattern.split("*").map(RegExp.escape).join(".*")}$`).test(name);
