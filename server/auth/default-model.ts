/** The default model of a request without `model`. Old clients, and some of OpenAI's own, omit it in image requests. */
import type { Model, Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "../request/caller.ts";
import { mayUse } from "./resolve-model.ts";

/** The most model IDs that an error message lists. */
const maxListed = 20;

/** The default of the API key, else of the configuration, else the only model of this kind that the key may use. */
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
