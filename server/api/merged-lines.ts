/** Lines of a batch that are sent as one embeddings request: which may be, and the response of each. */
import type { MayMerge } from "../batches/merge-lines.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { countedTokens, tokensPerInput } from "../embeddings/embedding-usage.ts";
import { bodyWithoutNulls } from "../http/read-body.ts";
import { copyAll } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { isEmptyObject } from "../lib/large-json.ts";
import { nextTurn } from "../lib/tasks.ts";
import type { Endpoint, WrittenResponse } from "../pipeline/endpoint.ts";
import { joinChunks, type RequestUsage } from "../request/http-types.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import { embeddingsBody } from "./embeddings.ts";

type Embeddings = Endpoint<EmbeddingsQuery, EmbeddingsResponse>;

/** As for micro-batching: extra fields, or the model, may make the vector of an input depend on the other inputs. */
export function createMayMerge(snapshot: () => Snapshot, maxInputs: number): MayMerge {
  const { read } = embeddingsBody(maxInputs);
  return (body) => {
    const model = typeof body.model === "string" ? snapshot().models.get(body.model) : undefined;
    if (!model || model.contextual || model.unbatched) return false;
    try {
      return isEmptyObject(read(bodyWithoutNulls(body)).extraFields);
    } catch (error) {
      if (error instanceof GatewayError) return false;
      throw error;
    }
  };
}

/** Other requests are served after this many bytes were written. */
const bytesPerTurn = 256 * 1024;

/** The endpoint whose response body has one chunk for each of the lines, by the numbers of their inputs. */
export const mergedEndpoint = (
  endpoint: Embeddings,
  inputsOfLines: readonly number[],
): Embeddings => ({
  ...endpoint,
  write: async (response, query, context) => {
    // Reading the response took milliseconds, and writing it takes as long.
    await nextTurn();
    const { vectors, usage, deviations } = response;
    const tokens = usage && tokensPerInput(usage, query.input);
    const body: Uint8Array[] = [];
    let [from, bytes] = [0, 0];
    for (const inputs of inputsOfLines) {
      const to = from + inputs;
      const part = {
        vectors: vectors.slice(from, to),
        ...(tokens && { usage: { inputTokens: sumOf(tokens.slice(from, to)) } }),
      };
      const written = bytesOf(await endpoint.write(part, partOf(query, from, to), context));
      const chunk = written instanceof Promise ? await written : written;
      body.push(chunk);
      from = to;
      bytes += chunk.length;
      if (bytes < bytesPerTurn) continue;
      bytes = 0;
      await nextTurn();
    }
    return { kind: "buffered", body, usage: reportedUsage(response), deviations };
  },
});

function reportedUsage(response: EmbeddingsResponse): RequestUsage | undefined {
  const inputTokens = countedTokens(response);
  return inputTokens === undefined ? undefined : { inputTokens };
}

function partOf(query: EmbeddingsQuery, from: number, to: number): EmbeddingsQuery {
  const { input } = query;
  if (input.kind !== "text") throw new GatewayError("internal", "A merged line is not a text.");
  return { ...query, input: { kind: "text", texts: input.texts.slice(from, to) } };
}

/** A promise for a long body only. */
function bytesOf(written: WrittenResponse): Uint8Array | Promise<Uint8Array> {
  if (written.kind !== "buffered") throw new GatewayError("internal", "A line is streamed.");
  const { body } = written;
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  return "open" in body ? copyAll(body.open()) : joinChunks(body);
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
