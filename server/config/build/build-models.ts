/** Builds the models of a config snapshot: those of the configuration, and provisioned ones. */
import type { ModelKind } from "../../../contract/model-kinds.ts";
import { durationMs } from "../../../contract/schemas/models.ts";
import { deepFreeze } from "../../lib/deep-freeze.ts";
import { adapters } from "../../upstream/adapters/index.ts";
import { knownEmbedding, vectorSpaceOf } from "../../upstream/catalog/index.ts";
import { withEmbeddingPrices } from "../../upstream/catalog/prices/model-price.ts";
import { isContextualModel } from "../../upstream/contextual.ts";
import type { Target, Upstream } from "../../upstream/contract.ts";
import type { Model, Source } from "../snapshot.ts";
import { type ProvisionedUpstream, sourceOf } from "../sources/provisioned-upstreams.ts";
import type { Config } from "../validate/schema.ts";
import { modelShutdownDate } from "./config-warnings.ts";
import { modelLimits, targetLimits } from "./limits-and-budgets.ts";

const defaultMaxImages = 10;

export function provisionedModels(provisioned: ProvisionedUpstream): readonly Model[] {
  const { upstream, models } = provisioned;
  const source = sourceOf(provisioned);
  return models.map(({ name, ...row }) => {
    const target = { upstream, model: name };
    const targets = [row.kind === "embedding" ? withEmbeddingPrices(target) : target];
    return deepFreeze({
      maxImages: defaultMaxImages,
      ...(row.kind === "embedding" && vectorProperties(row.id, targets)),
      ...(row.kind === "embedding" && contextualFlag(targets)),
      ...(row.kind === "embedding" && imagesFlag(targets)),
      ...row,
      targets,
      ...shutdownDate(targets),
      source,
      ownedBy: source === "built-in" ? "vexel" : upstream.kind,
    });
  });
}

/** A model of the file. Its id may be a model alias: each target has the name of the model at its upstream. */
export function configuredModel(
  { targets, ...row }: ModelRow,
  upstreams: ReadonlyMap<string, Upstream>,
  source: Source,
): Model {
  const upstreamAt = (id: string): Upstream => {
    const upstream = upstreams.get(id);
    if (!upstream)
      throw new Error(`model ${row.id} has a target at the upstream ${id}, which does not exist`);
    return upstream;
  };
  const order = orderOf(row.kind, targets);
  const resolved = targets.map(({ upstream, model, ...more }, at): Target => {
    const { surface, via } = more as { surface?: string; via?: string };
    const price = more.price ?? row.price;
    const target = targetLimits(row.id, more.limits, {
      upstream: upstreamAt(upstream),
      model,
      ...(surface === "responses" && { surface }),
      ...(via !== undefined && { via }),
      ...(price && { price }),
      ...order[at],
    });
    return row.kind === "embedding" ? withEmbeddingPrices(target) : target;
  });
  return {
    id: row.id,
    kind: row.kind,
    targets: resolved,
    ...shutdownDate(resolved),
    source,
    ownedBy: resolved[0]?.upstream.kind ?? "vexel",
    ...(row.description !== undefined && { description: row.description }),
    ...(row.timeout !== undefined && { timeoutMs: row.timeout * 1000 }),
    ...(row.storeContent && { storeContentMs: durationMs(row.storeContent.for) }),
    ...(row.showCost && { showCost: true }),
    ...modelLimits(row.id, row.limits),
    maxImages: defaultMaxImages,
    ...(row.policy && { policy: row.policy }),
    ...(row.kind === "embedding"
      ? embeddingProperties(row, resolved)
      : imageProperties(row, upstreamAt)),
  };
}

type ModelRow = Config["models"][number];

const embeddingProperties = (
  row: Omit<Extract<ModelRow, { kind: "embedding" }>, "targets">,
  targets: readonly Target[],
): Partial<Model> => ({
  ...vectorProperties(row.id, targets),
  ...(row.dimensions !== undefined && { dimensions: row.dimensions }),
  ...contextualFlag(targets, row.contextual),
  ...imagesFlag(targets),
  ...(!row.cache && { uncached: true }),
  ...(!row.batch && { unbatched: true }),
  ...(row.batches && { batches: row.batches }),
  ...(row.tokenArrays !== "decode" && { tokenArrays: row.tokenArrays }),
});

const imageProperties = (
  row: Omit<Extract<ModelRow, { kind: "image" }>, "targets">,
  upstreamAt: (id: string) => Upstream,
): Partial<Model> => ({
  maxImages: row.maxImages,
  ...(row.parameters && { parameters: row.parameters }),
  ...(row.retryPaid && { retryPaid: true }),
  ...(row.onDisconnect && { onDisconnect: row.onDisconnect }),
  ...(row.moderation && {
    moderation: {
      target: targetLimits(row.id, undefined, {
        upstream: upstreamAt(row.moderation.upstream),
        model: row.moderation.model,
        ...(row.moderation.price && { price: row.moderation.price }),
      }),
      onFailure: row.moderation.onFailure,
      timeoutMs: row.moderation.timeout * 1000,
    },
  }),
});

/** The configured value, else derived from the names of the targets: a deployment may have any name. */
const contextualFlag = (
  targets: readonly Target[],
  configured = targets.some(({ model }) => isContextualModel(model)),
): Pick<Model, "contextual"> => (configured ? { contextual: true } : {});

function imagesFlag(targets: readonly Target[]): Pick<Model, "readsImages"> {
  const readers = targets.flatMap(
    (target) => adapters.get(target.upstream.kind)?.embeddings?.capabilities(target).images ?? [],
  );
  if (readers.length === 0) return {};
  return { readsImages: readers.every(({ isAssumed }) => isAssumed) ? "assumed" : true };
}

const shutdownDate = (targets: readonly Target[]): Pick<Model, "shutdownDate"> => {
  const date = modelShutdownDate(targets);
  return date === undefined ? {} : { shutdownDate: date };
};

/**
 * Vector space, known model and dimensions, derived from the names of the targets. Configured values override these.
 */
function vectorProperties(id: string, targets: readonly Target[]) {
  const spaces = new Set(targets.map(({ upstream, model }) => vectorSpaceOf(model, upstream.kind)));
  const known = targets.map(({ upstream, model }) => knownEmbedding(model, upstream.kind));
  const [first] = known;
  const [space = ""] = spaces;
  const dimensions = first?.dimensions;
  return {
    // `sameSpace` declares several spaces to be one. It is unknown which, so no other model shares it. The prefix is
    // part of stored cache keys: another one would make every stored vector of such a model a cache miss.
    space: spaces.size > 1 ? `vouched:${id}` : space,
    ...(first && known.every((row) => row === first) && { known: first }),
    ...(dimensions !== undefined &&
      known.every((row) => row?.dimensions === dimensions) && { dimensions }),
  };
}

/** The settings that order a model's targets. */
interface Ordered {
  readonly tier?: number | undefined;
  readonly weight?: number | undefined;
}

/**
 * Default tiers. Embedding targets produce the same vectors, so all share the requests in one tier. Images differ
 * between targets, so the list is a failover chain from the preferred target to the last resort: each target is its own
 * tier.
 */
function orderOf(
  kind: ModelKind,
  targets: readonly Ordered[],
): readonly { readonly tier?: number; readonly weight?: number }[] {
  const isChain = kind === "image" && targets.every(({ tier }) => tier === undefined);
  return targets.map(({ tier = 0, weight = 1 }, at) => {
    const effectiveTier = isChain ? at : tier;
    return { ...(effectiveTier !== 0 && { tier: effectiveTier }), ...(weight !== 1 && { weight }) };
  });
}
