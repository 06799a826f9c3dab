/** /models: the catalog that the console shows, with the live health of the targets. */
import type { Origin, ShownModel, ShownTarget } from "../../../contract/admin.ts";
import type { Model, Snapshot } from "../../config/snapshot.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { type CapabilitiesOf, imageEdits, imageOptions } from "../image-options.ts";
import { priceText } from "../price-text.ts";

export interface ModelRoutesOptions {
  readonly snapshot: () => Snapshot;
  /** The health of all targets. */
  readonly targets: () => readonly ShownTarget[];
  readonly capabilitiesOf: CapabilitiesOf;
}

const origins: Readonly<Record<Model["source"], Origin["source"]>> = {
  file: "yaml",
  environment: "environment",
  store: "store",
  embedded: "embedded",
};

export function modelRoutes({
  snapshot,
  targets,
  capabilitiesOf,
}: ModelRoutesOptions): readonly AdminRoute[] {
  const show = (model: Model, health: readonly ShownTarget[]): ShownModel => ({
    object: "model",
    id: model.id,
    kind: model.kind,
    description: model.description ?? null,
    owned_by: model.ownedBy,
    origin: { source: origins[model.source], location: null },
    dimensions: model.dimensions ?? null,
    context_tokens: model.known?.maxTokens ?? null,
    vector_space: model.space ?? null,
    price: priceText(model),
    ends_on: model.endsOn ?? null,
    limits: model.limits ?? null,
    options: model.kind === "image" ? imageOptions(model, "generations", capabilitiesOf) : {},
    edits: model.kind === "image" ? imageEdits(model, capabilitiesOf) : null,
    targets: health.filter(({ models }) => models.includes(model.id)),
  });
  const list = (context: AdminApiContext): Response => {
    const health = targets();
    const data = [...snapshot().models.values()].map((model) => show(model, health));
    return context.json({ object: "list", data, next_cursor: null });
  };
  return [
    {
      method: "GET",
      path: "/models",
      role: "viewer",
      scope: "gateway",
      summary: "List the models with the health of their targets.",
      response: "Page<ShownModel>",
      handle: list,
    },
  ];
}
