/** Models, budgets and limits of single members of teams (LiteLLM_TeamMembership). */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import type { FoundLoss } from "../losses.ts";
import { hasContent } from "./column-values.ts";
import { allowedBy, everyModel } from "./key-models.ts";
import { budgetNames, rowLosses } from "./row-losses.ts";
import { jsonOf, type LitellmSource } from "./source.ts";

export interface Member {
  /** Undefined if the list cannot be read. */
  readonly models: readonly string[] | undefined;
  /** The row of the budget table. If absent, the member has no limits. */
  readonly budget?: JsonObject;
  readonly spend: unknown;
  /** Limits that the key cannot have, because other keys share them. */
  readonly losses: readonly FoundLoss[];
}

/** Returns the member that a key of a team belongs to. */
export function membersOf(
  source: LitellmSource,
  teams: ReadonlyMap<string, JsonObject>,
): (key: JsonObject) => Member | undefined {
  const budgets = new Map(source.budgets.map((row) => [String(row.budget_id), row]));
  const rows = new Map(source.members.map((row) => [memberId(row), row]));
  const keys = Map.groupBy(source.keys, memberId);
  return (key) => {
    if (!hasContent(key.team_id) || !hasContent(key.user_id)) return undefined;
    const row = rows.get(memberId(key));
    // A member without a budget has the one that the team has for its members.
    const ofTeam = jsonOf(teams.get(String(key.team_id))?.metadata).team_member_budget_id;
    const budget = budgets.get(String(row?.budget_id ?? ofTeam));
    if (!budget) return undefined;
    const names = budgetNames(budget);
    const isShared = (keys.get(memberId(key))?.length ?? 0) > 1;
    return {
      models: hasContent(row?.budget_id) ? allowedBy(budget.allowed_models) : everyModel,
      spend: row?.spend,
      ...(!isShared && { budget }),
      losses: [
        ...rowLosses(budget, "member."),
        ...(isShared && names.length > 0
          ? [
              {
                loss: "member-budgets",
                field: "user_id",
                note: `its ${names.join(", ")}, which several keys of the member share`,
              } as const,
            ]
          : []),
      ],
    };
  };
}

const memberId = ({ user_id, team_id }: JsonObject): string =>
  JSON.stringify([user_id ?? null, team_id ?? null]);
