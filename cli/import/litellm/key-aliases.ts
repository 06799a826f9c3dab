/** Aliases of one key or team: for it, LiteLLM sends requests for a name to another model. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { jsonOf, type LitellmSource } from "./source.ts";

/** The names that stand for another model, and these models. `team`: absent for a key without a team. */
export function aliasesOfKey(
  key: JsonObject,
  team: JsonObject | undefined,
  { teamAliases }: Pick<LitellmSource, "teamAliases">,
): ReadonlyMap<string, string> {
  const ofTeam = teamAliases.find(({ id }) => String(id) === String(team?.model_id ?? ""));
  const all = [
    jsonOf(ofTeam?.model_aliases ?? ofTeam?.aliases),
    jsonOf(jsonOf(team?.router_settings).model_group_alias),
    jsonOf(jsonOf(key.router_settings).model_group_alias),
    jsonOf(key.aliases),
  ];
  return new Map(
    all.flatMap((aliases) =>
      Object.entries(aliases)
        .map(([alias, named]): [string, string] => [alias, targetOf(named)])
        .filter(([alias, name]) => alias !== name),
    ),
  );
}

/** Aliases of a router may have the name in an object. */
export const targetOf = (named: unknown): string =>
  typeof named === "string" ? named : String(jsonOf(named).model);
