/** Models and targets from LiteLLM's model list. Several entries with one name become the targets of one model. */
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { vectorSpaceOf } from "../../../server/upstream/catalog/index.ts";
import { isModelName, nameRule, type Upstreams } from "../plan.ts";
import type { Report, SubjectReport } from "../report.ts";
import { namesOf } from "./column-values.ts";
import type { NamedModels } from "./key-models.ts";
import { modelLosses } from "./model-losses.ts";
import {
  addAliases,
  aliasesOf,
  hiddenAliases,
  refuseRoutingGroups,
  reportRouting,
} from "./plan-aliases.ts";
import { type PlannedTarget, planTarget } from "./plan-target.ts";
import type { LitellmModel, LitellmSource } from "./source.ts";

export interface PlannedModels extends NamedModels {
  readonly models: Map<string, JsonObject>;
  /** Names of models with a target whose price is not known. */
  readonly unpriced: ReadonlySet<string>;
}

export function planModels(
  source: LitellmSource,
  upstreams: Upstreams,
  report: Report,
): PlannedModels {
  const models = new Map<string, JsonObject>();
  const unpriced = new Set<string>();
  const groups = new Map<string, Set<string>>();
  const aliases = aliasesOf(source);
  const shared = new Set(aliases.values());
  const byName = Map.groupBy(source.models, ({ model_name }) => model_name);
  for (const [name, entries] of byName) {
    const about = report.about(`model ${JSON.stringify(name)}`);
    if (!about.lost(modelLosses(entries, source))) continue;
    const targets = entries.flatMap(
      (entry) => planTarget(entry, { source, upstreams, report, isShared: shared.has(name) }) ?? [],
    );
    const model = joinTargets(name, targets, about);
    if (!model) continue;
    models.set(name, model);
    groups.set(name, accessGroupsOf(entries));
    if (targets.some(({ kind, hasPrice }) => kind === model.kind && !hasPrice)) unpriced.add(name);
  }
  refuseRoutingGroups(source, models, report);
  addAliases(aliases, hiddenAliases(source), models, report);
  for (const [alias, name] of aliases)
    if (models.has(alias) && unpriced.has(name)) unpriced.add(alias);
  reportRouting(source, models, report);
  return { models, unpriced, groups, aliases };
}

/** LiteLLM joins the groups of all entries with one name. */
const accessGroupsOf = (entries: readonly LitellmModel[]): Set<string> =>
  new Set(entries.flatMap(({ model_info }) => namesOf(model_info.access_groups) ?? []));

function joinTargets(
  name: string,
  targets: readonly PlannedTarget[],
  report: SubjectReport,
): JsonObject | undefined {
  const [first] = targets;
  if (!first) return undefined;
  if (name === "") {
    report.refused("the entry has no model_name");
    return undefined;
  }
  if (!isModelName(name)) {
    report.refused(nameRule);
    return undefined;
  }
  const own = targets.filter(({ kind }) => kind === first.kind);
  if (own.length < targets.length)
    report.dropped(
      "",
      `the entries are for embeddings and for images; only the ${own.length} for ${first.kind}s are imported`,
    );
  if (first.kind === "embedding" && new Set(own.map(({ space }) => space)).size > 1) {
    report.refused(describeMixture(own));
    return undefined;
  }
  const [dimensions] = own.flatMap((target) => target.dimensions ?? []);
  const [timeout] = own.flatMap((target) => target.timeout ?? []);
  report.carried(
    "",
    `${first.kind} model with ${own.length} ${own.length === 1 ? "target" : "targets"}`,
  );
  return {
    kind: first.kind,
    targets: orderedTargets(own),
    ...(first.kind === "embedding" && dimensions !== undefined && { dimensions }),
    ...(timeout !== undefined && { timeout }),
    ...(first.kind === "embedding" && isMixed(own) && { sameSpace: true }),
    ...(own.some(({ dropsParameters }) => dropsParameters) && { parameters: "drop" }),
  };
}

/** LiteLLM uses entries without an order after those with one. */
function orderedTargets(targets: readonly PlannedTarget[]): readonly JsonObject[] {
  const tiers = targets.flatMap(({ target }) =>
    typeof target.tier === "number" ? [target.tier] : [],
  );
  if (tiers.length === 0) return targets.map(({ target }) => target);
  const last = Math.max(...tiers) + 1;
  return targets.map(({ target }) => ({ ...target, tier: target.tier ?? last }));
}

/** Vexel knows the models by their names only. */
const isMixed = (targets: readonly PlannedTarget[]): boolean =>
  new Set(targets.map(({ target, upstreamKind }) => vectorSpaceOf(target.model, upstreamKind)))
    .size > 1;

const describeMixture = (targets: readonly PlannedTarget[]): string => {
  const names = [...new Set(targets.map(({ target }) => target.model))].join(", ");
  return (
    `its entries are different models (${names}), whose vectors cannot be compared. LiteLLM sends each request to any of them, ` +
    "so an index that was filled through this name may hold vectors of several models. Import one of them, under a name of its own"
  );
};
