import type { ModelTarget, ShownModel } from "../../../../contract/admin.ts";

/** The targets of one upstream by a key of their own, each once: models may share a target. */
export const upstreamTargets = (
  upstream: string,
  models: readonly Pick<ShownModel, "targets">[],
): ReadonlyMap<string, ModelTarget> =>
  new Map(
    models
      .flatMap(({ targets }) => targets)
      .filter((target) => target.upstream === upstream)
      .map((target) => [`${target.model} ${target.surface ?? ""}`, target]),
  );

/** A model that the upstream serves, by the upstream's name of it. */
export function servedModel(
  upstream: string,
  models: readonly Pick<ShownModel, "kind" | "targets">[],
) {
  for (const { kind, targets } of models) {
    const target = targets.find((each) => each.upstream === upstream);
    if (target) return { model: target.model, modelKind: kind };
  }
  return undefined;
}
