import type { ShownModel, ShownTarget } from "../../../../contract/admin.ts";

/** The targets of one upstream by a key of their own, each once: models may share a target. */
export const upstreamTargets = (
  upstream: string,
  models: readonly Pick<ShownModel, "targets">[],
): ReadonlyMap<string, ShownTarget> =>
  new Map(
    models
      .flatMap(({ targets }) => targets)
      .filter((target) => target.upstream === upstream)
      .map((target) => [`${target.model} ${target.surface ?? ""}`, target]),
  );
