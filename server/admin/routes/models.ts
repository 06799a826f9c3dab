/** /models: the catalog that the console shows, with the live health of the targets, and the models of the store. */

import { z } from "zod";
import { modelEntitySchema } from "../../../contract/admin/entities.ts";
import { listBounds } from "../../../contract/admin/list-bounds.ts";
import { modelDetailSchema, shownModelSchema } from "../../../contract/admin/models.ts";
import { pageSchema } from "../../../contract/admin/page.ts";
import type {
  ModelDetail,
  ModelEntity,
  ModelTarget,
  ModelValue,
  ShownModel,
  ShownTarget,
} from "../../../contract/admin.ts";
import { modelKinds } from "../../../contract/model-kinds.ts";
import type { EntityView } from "../../config/entities/entity-views.ts";
import type { Model } from "../../config/snapshot.ts";
import { originOf } from "../../config/snapshot.ts";
import type { AdminDependencies } from "../admin-dependencies.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { entityChanges, idOf } from "../entities/change-entities.ts";
import { entityRoutes } from "../entities/entity-routes.ts";
import { shownEntity, shownOrigin } from "../entities/show-entity.ts";
import { imageEdits, imageOptions } from "../image-options.ts";
import { modelPrices } from "../model-prices.ts";
import { respondWithList } from "../respond-with-list.ts";

const target = z.looseObject({ upstream: z.string(), model: z.string() });
const body = z.looseObject({
  id: z.string().describe("The id that clients send as model."),
  kind: z.enum(modelKinds),
  targets: z.array(target).min(1).describe("The upstreams that serve it, with its name there."),
});

export function modelRoutes(options: AdminDependencies): readonly AdminRoute[] {
  const { snapshot, targets, capabilitiesOf } = options;
  const models = entityChanges("model", options);
  const show = (model: Model, health: readonly ModelTarget[]): ShownModel => ({
    object: "model",
    id: model.id,
    kind: model.kind,
    description: model.description ?? null,
    owned_by: model.ownedBy,
    origin: shownOrigin(originOf(snapshot(), "model", model.id) ?? model),
    dimensions: model.dimensions ?? null,
    context_tokens: model.known?.maxTokens ?? null,
    reads_images: model.readsImages ?? false,
    vector_space: model.space ?? null,
    prices: modelPrices(model),
    ends_on: model.shutdownDate ?? null,
    limits: model.limits ?? null,
    stores_content: model.storeContentMs !== undefined,
    options: model.kind === "image" ? imageOptions(model, "generations", capabilitiesOf) : {},
    edits: model.kind === "image" ? imageEdits(model, capabilitiesOf) : null,
    targets: health,
  });
  const list = async (context: AdminApiContext): Promise<Response> => {
    const health = byModel(await targets());
    return respondWithList(context, snapshot().models.values(), (model) =>
      show(model, health.get(model.id) ?? []),
    );
  };
  const showEntity = (view: EntityView): ModelEntity => shownEntity<ModelValue>(view);

  const get = async (context: AdminApiContext): Promise<Response> => {
    const definition = showEntity(await models.find(context));
    const model = snapshot().models.get(idOf(context));
    // A stored model that is not in force has only a definition.
    const detail: ModelDetail = {
      ...(model
        ? show(model, byModel(await targets()).get(model.id) ?? [])
        : modelNotInForce(definition)),
      definition,
    };
    return context.json(detail);
  };

  const entities = entityRoutes({
    changes: models,
    path: "/models",
    noun: "a model",
    entity: modelEntitySchema,
    body,
    maxEntries: listBounds.models,
    scope: "all-projects",
    show: showEntity,
  });
  return [
    {
      ...entities.list,
      needs: "view",
      scope: "gateway",
      summary: "List the models with the health of their targets.",
      response: pageSchema(shownModelSchema, listBounds.models),
      handle: list,
    },
    entities.create,
    { ...entities.get, needs: "view", scope: "gateway", response: modelDetailSchema, handle: get },
    entities.replace,
    entities.remove,
  ];
}

/** The targets of each model, by its id. */
function byModel(targets: readonly ShownTarget[]): ReadonlyMap<string, readonly ModelTarget[]> {
  const found = new Map<string, ModelTarget[]>();
  for (const { models, ...target } of targets) {
    for (const id of models) {
      const known = found.get(id);
      if (known) known.push(target);
      else found.set(id, [target]);
    }
  }
  return found;
}

const modelNotInForce = ({ id, origin, value }: ModelEntity): ShownModel => ({
  object: "model",
  id,
  kind: value.kind,
  description: value.description ?? null,
  owned_by: "vexel",
  origin,
  dimensions: null,
  context_tokens: null,
  reads_images: false,
  vector_space: null,
  prices: [],
  ends_on: null,
  limits: value.limits ?? null,
  stores_content: false,
  options: {},
  edits: null,
  targets: [],
});
