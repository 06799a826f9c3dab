/** Second names of models, and the other settings of LiteLLM's router. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { isModelName, nameRule } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { targetOf } from "./key-aliases.ts";
import { type LitellmSource, listOf, objectOf } from "./source.ts";

/** Both settings give a model further names: the alias, and the name that it stands for. */
export const aliasesOf = ({
  routerSettings,
  otherSettings,
}: Pick<LitellmSource, "routerSettings" | "otherSettings">): ReadonlyMap<string, string> =>
  new Map(
    Object.entries({
      ...objectOf(objectOf(otherSettings.get("litellm_settings")).model_alias_map),
      ...objectOf(routerSettings.model_group_alias),
    }).map(([alias, named]) => [alias, targetOf(named)]),
  );

/** A routing group has a name, which LiteLLM looks for before that of a model. */
export function refuseRoutingGroups(
  { routerSettings }: Pick<LitellmSource, "routerSettings">,
  models: Map<string, JsonObject>,
  report: Report,
): void {
  for (const group of listOf(routerSettings.routing_groups)) {
    const { group_name, models: members } = objectOf(group);
    const name = String(group_name);
    const others = listOf(members).filter((member) => member !== name);
    if (others.length === 0 || !models.delete(name)) continue;
    report
      .about(`model ${JSON.stringify(name)}`)
      .refused(`LiteLLM sends its requests to the models of a routing group: ${others.join(", ")}`);
  }
}

/** LiteLLM serves them, and does not list them. */
export const hiddenAliases = ({
  routerSettings,
}: Pick<LitellmSource, "routerSettings">): ReadonlySet<string> =>
  new Set(
    Object.entries(objectOf(routerSettings.model_group_alias)).flatMap(([alias, named]) =>
      objectOf(named).hidden === true ? [alias] : [],
    ),
  );

export function addAliases(
  aliases: ReadonlyMap<string, string>,
  hidden: ReadonlySet<string>,
  models: Map<string, JsonObject>,
  report: Report,
): void {
  const about = report.about("aliases of models");
  const own = new Set(models.keys());
  for (const [alias, name] of aliases) {
    if (alias === name) continue;
    // LiteLLM looks for an alias first: requests for a model of this name go to another one.
    if (own.has(alias)) {
      models.delete(alias);
      report
        .about(`model ${JSON.stringify(alias)}`)
        .refused(`LiteLLM sends its requests to ${JSON.stringify(name)}, of which it is an alias`);
      continue;
    }
    const model = models.get(name);
    if (!isModelName(alias)) about.dropped(alias, nameRule);
    else if (model) {
      models.set(alias, model);
      const text = `a model with the targets of "${name}"`;
      if (hidden.has(alias)) about.approximated(alias, `${text}, which /v1/models lists, too`);
      else about.carried(alias, text);
    } else about.dropped(alias, `"${name}" was not imported`);
  }
}

/** What LiteLLM's router does beside the aliases. */
export function reportRouting(
  { routerSettings, otherSettings }: Pick<LitellmSource, "routerSettings" | "otherSettings">,
  models: ReadonlyMap<string, JsonObject>,
  report: Report,
): void {
  const { model_group_alias, fallbacks, ...others } = routerSettings;
  const about = report.about("router_settings");
  const litellm = objectOf(otherSettings.get("litellm_settings"));
  reportFallbacks(fallbacks, models, about);
  reportFallbacks(litellm.fallbacks, models, report.about("litellm_settings"));
  for (const name of Object.keys(others))
    about.dropped(name, "Vexel balances, retries and fails over by its own rules");
}

function reportFallbacks(
  fallbacks: unknown,
  models: ReadonlyMap<string, JsonObject>,
  about: SubjectReport,
): void {
  for (const entry of listOf(fallbacks))
    for (const [from, to] of Object.entries(objectOf(entry))) {
      const isEmbedding = models.get(from)?.kind === "embedding";
      about.dropped(
        `fallbacks.${from}`,
        isEmbedding
          ? `refused: the vectors of ${JSON.stringify(to)} cannot be compared with those of "${from}"`
          : `add the targets of ${JSON.stringify(to)} to "${from}", with a higher tier`,
      );
    }
}
