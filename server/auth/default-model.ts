/** The model of a request that names none. Old clients, and some of OpenAI's own, leave it out of image requests. */
import type { Model, Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "../request/caller.ts";
import { mayUse } from "./resolve-model.ts";

/** How many ids an error names. */
const maxListed = 20;

/** The key's default, the configuration's, or the only model of the kind that the key may use. */
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
      ? `This key may use no ${kind} model.`
      : `This key may use: ${listed}${more}.`;
  return kind === "embedding"
    ? new GatewayError("missing_model", `you must provide a model parameter. ${choice}`)
    : new GatewayError("missing_parameter", `Missing required parameter: 'model'. ${choice}`, {
        param: "model",
      });
}
