/** Checks the body of a line of a batch as its endpoint would: parameters, and the model that the API key may use. */
import { defaultModel, resolveModel } from "../auth/authenticate.ts";
import type { BatchOperation } from "../batches/batches.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { itemsOf } from "../embeddings/split.ts";
import { bodyWithoutNulls } from "../http/read-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "../request/caller.ts";
import { modelKindOf } from "../request/operation.ts";
import type { EditQuery, EmbeddingsQuery, GenerationQuery } from "../upstream/contract.ts";
import { parseEdit } from "./edits.ts";
import { embeddingsBody } from "./embeddings.ts";
import { parseGeneration } from "./generations.ts";

export interface CheckedLine {
  readonly model: string;
  /** Embeddings inputs. 0 for images. */
  readonly inputs: number;
  readonly query: GenerationQuery | EditQuery | EmbeddingsQuery;
}

/** Returns a function that throws GatewayError. */
export function createCheckLine({ maxInputs }: { readonly maxInputs: number }) {
  const embeddings = embeddingsBody(maxInputs);
  const parse = (operation: BatchOperation, body: unknown, name: (given: unknown) => unknown) => {
    if (operation === "edits") return { query: parseEdit(body, name), inputs: 0 };
    const fields = bodyWithoutNulls(body);
    const named = { ...fields, model: name(fields.model) };
    if (operation === "generations") return { query: parseGeneration(named), inputs: 0 };
    if (fields.input === undefined) throw missingInput();
    const query = embeddings.read(named);
    return { query, inputs: itemsOf(query.input) };
  };
  return (
    operation: BatchOperation,
    body: unknown,
    caller: Caller,
    snapshot: Snapshot,
  ): CheckedLine => {
    const kind = modelKindOf(operation);
    const name = (given: unknown): unknown =>
      given === undefined || given === "" ? defaultModel(kind, caller, snapshot) : given;
    try {
      const parsed = parse(operation, body, name);
      return { ...parsed, model: resolveModel(parsed.query.model, kind, caller, snapshot).id };
    } catch (error) {
      throw error instanceof GatewayError ? withLineNames(error, operation) : error;
    }
  };
}

const missingInput = (): GatewayError =>
  new GatewayError("missing_parameter", "Missing required parameter: 'input'.", { param: "input" });

/** The errors of embeddings requests name no parameter, as OpenAI's do. Those of a batch do. */
function withLineNames(error: GatewayError, operation: BatchOperation): GatewayError {
  if (operation === "edits") return error;
  const param = paramOf(error);
  return param === undefined
    ? error
    : new GatewayError(error.kind, error.message, { ...error.details, param });
}

function paramOf({ kind, details }: GatewayError): string | undefined {
  if (details.param !== undefined) return undefined;
  if (kind === "invalid_input") return "input";
  return kind.includes("model") ? "model" : undefined;
}
