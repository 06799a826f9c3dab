/** Step 5: where may it go. Leaves a `Route`, which needs a `Caller` to be made. */
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
  // One response for both: a key cannot find out which models there are for other keys.
  if (!model || !mayUse(caller, model)) throw modelNotFound(id);
  if (model.kind !== kind) {
    throw kind === "embedding"
      ? new GatewayError(
          "not_an_embedding_model",
          `You are not allowed to generate embeddings from this model: \`${id}\` makes images.`,
        )
      : new GatewayError(
          "not_an_image_model",
          `The model '${id}' does not make images: it makes embeddings.`,
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
