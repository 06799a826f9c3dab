/**
 * Authorization of the model (step 5 of a request): resolves a model ID to a `Route`, which only a `Caller` can get.
 */
import type { Model, Snapshot } from "../config/snapshot.ts";
import { brand } from "../lib/branded.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { matchesGlob } from "../lib/glob.ts";
import type { Caller, Route } from "../request/caller.ts";

export function resolveModel(
  id: string,
  kind: Model["kind"],
  caller: Caller,
  snapshot: Snapshot,
): Route {
  const model = snapshot.models.get(id);
  // The same error for an unknown and for a forbidden model, so that a key cannot probe for the models of other keys.
  if (!model || !mayUse(caller, model)) throw modelNotFound(id);
  if (model.kind !== kind) {
    throw kind === "embedding"
      ? new GatewayError(
          "not_an_embedding_model",
          `You are not allowed to generate embeddings from this model: \`${id}\` is an image model.`,
        )
      : new GatewayError(
          "not_an_image_model",
          `The model '${id}' does not generate images: it is an embedding model.`,
          { param: "model" },
        );
  }
  return brand<Model, "permitted">(model);
}

export const mayUse = (caller: Caller, model: Model): boolean =>
  caller.models.some((glob) => matchesGlob(glob, model.id));

export const modelNotFound = (id: string): GatewayError =>
  new GatewayError(
    "model_not_found",
    `The model \`${id.slice(0, 200)}\` does not exist or you do not have access to it.`,
  );
