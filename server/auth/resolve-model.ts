/**
 * Authorization of the model (ARCHITECTURE.md, step 5): resolves a model ID to a `Route`, which only a `Caller` can
 * get.
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

/** The most model IDs that an error message lists. */
const maxListed = 20;

/**
 * The default model of a request without `model`: old clients, and some of OpenAI's own, omit it in image requests. The
 * default of the API key, else of the configuration, else the only model of this kind that the key may use.
 */
export function defaultModel(kind: Model["kind"], caller: Caller, snapshot: Snapshot): string {
  for (const id of [caller.defaults?.[kind], snapshot.defaults?.[kind]]) {
    const model = id === undefined ? undefined : snapshot.models.get(id);
    if (model?.kind === kind && mayUse(caller, model)) return model.id;
  }
  const usable: string[] = [];
  for (const model of snapshot.models.values()) {
    if (model.kind === kind && mayUse(caller, model)) usable.push(model.id);
  }
  const [only, another] = usable;
  if (only !== undefined && another === undefined) return only;
  throw missingModel(kind, usable);
}

function missingModel(kind: Model["kind"], usable: readonly string[]): GatewayError {
  const listed = usable.slice(0, maxListed).join(", ");
  const left = usable.length - maxListed;
  const more = left > 0 ? ` and ${left} more (GET /v1/models lists them)` : "";
  const choice =
    usable.length === 0
      ? `This API key may not use any ${kind} model.`
      : `This API key may use: ${listed}${more}.`;
  return kind === "embedding"
    ? new GatewayError("missing_model", `you must provide a model parameter. ${choice}`)
    : new GatewayError("missing_parameter", `Missing required parameter: 'model'. ${choice}`, {
        param: "model",
      });
}
