/** A generation in both of Luma's APIs: an operation with an id and a state. */
import type { ReadImages, UpstreamRequest } from "../../adapter.ts";
import type { BufferedImageResponse, ExtraFields, Target, Upstream } from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { bearer, imageJsonRequest } from "../wire/build-request.ts";
import { memberOf, textIn } from "../wire/members.ts";
import { type ErrorMeaning, toMappedError } from "../wire/native-errors.ts";
import { operationIdOf, pollRequest } from "../wire/operations.ts";

export interface LumaApi {
  readonly baseUrlOf: (upstream: Upstream) => string;
  /** The path, below the base URL, that creates a generation. */
  readonly createPath: string;
  readonly done: (generation: unknown) => BufferedImageResponse;
  /** Classifies the error of a failed generation. Undefined for an error of the upstream itself. */
  readonly meaningOf: (generation: unknown, message: string) => ErrorMeaning | undefined;
  /** A generation can be canceled. */
  readonly cancels?: true;
}

export const lumaRequest = (
  { upstream }: Target,
  api: LumaApi,
  fields: ExtraFields,
): UpstreamRequest =>
  imageJsonRequest(`${api.baseUrlOf(upstream)}/${api.createPath}`, bearer(upstream), fields);

export const readGeneration =
  ({ baseUrlOf, done, meaningOf, cancels }: LumaApi): ReadImages =>
  async (response, context) => {
    const generation = await response.json();
    const [id, state] = [textIn(generation, "id"), memberOf(generation, "state")];
    const operation = operationIdOf(id, context);
    if (state === "failed") {
      const message = textIn(generation, "failure_reason");
      throw toMappedError(meaningOf(generation, message ?? ""), message, context);
    }
    if (state === "completed") return done(generation);
    if (id === undefined || typeof state !== "string")
      throw invalidResponse("it is not a generation");
    const { upstream } = context.target;
    const url = `${baseUrlOf(upstream)}/generations/${encodeURIComponent(id)}`;
    const headers = bearer(upstream);
    return {
      kind: "pending",
      ...operation,
      poll: pollRequest(url, headers),
      ...(cancels && { cancel: { url, headers, method: "DELETE" } }),
    };
  };
