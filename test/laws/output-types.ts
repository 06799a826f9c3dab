/** Sends a request for quantized vectors to a vendor's case, through the stages that adapt and verify parameters. */
import {
  adaptParameters,
  checkParameters,
  learnCapabilities,
} from "../../server/embeddings/adapt-parameters.ts";
import { verifyEmbeddingsStage } from "../../server/pipeline/verify-response.ts";
import { composeStages } from "../../server/request/stage.ts";
import type {
  EmbeddingsResponse,
  QuantizedType,
  QuantizedVector,
} from "../../server/upstream/contract.ts";
import type { Understood } from "../embedding-vendors/vendor-case.ts";
import { modelWithTargets, requestFor } from "../embeddings/stage-fixture.ts";
import { upstreamResponseOf } from "./adapter-cases.ts";
import type { VendorSubject } from "./vendor-requests.ts";

export const quantizedTypes = ["int8", "uint8", "binary", "ubinary"] as const;

/** numpy: `packbits(vector >= 0)`, for binary `- 128`; a byte for each number as a vendor may scale it. */
export function quantize(vector: Float32Array, type: QuantizedType): QuantizedVector {
  if (type === "int8") return Int8Array.from(vector, (number) => Math.round(number * 127));
  if (type === "uint8") return Uint8Array.from(vector, (number) => Math.round(number * 127) + 128);
  const bits = Array.from(vector, (number) => (number >= 0 ? "1" : "0")).join("");
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return type === "binary" ? Int8Array.from(bytes, (byte) => byte - 128) : Uint8Array.from(bytes);
}

interface Sent {
  readonly understood: readonly Understood[];
  readonly response: EmbeddingsResponse;
}

/** `rows`: the vectors that the vendor's model makes. */
export async function sendFor(
  { endpoint, vendor, capabilities }: VendorSubject,
  type: QuantizedType,
  rows: readonly Float32Array[],
): Promise<Sent> {
  const { target } = vendor;
  const understood: Understood[] = [];
  const learned = learnCapabilities(() => capabilities);
  const send = composeStages(
    [
      checkParameters(learned.capabilities, async (_, input) => input),
      verifyEmbeddingsStage({ hasDrifted: () => false, onImplausibleUsage: () => undefined }),
      adaptParameters(learned, async (input) => input),
    ],
    async ({ query }) => {
      const request = vendor.understand(endpoint.toUpstream(query, target), target);
      understood.push(request);
      // Perplexity's only other encoding is int8.
      const made = request.outputType ?? query.outputType?.type;
      const { status, headers, body } = made
        ? vendor.quantized!(
            rows.map((row) => quantize(row, made)),
            made,
          )
        : vendor.response(rows, 3);
      const options = { ...(status !== undefined && { status }), ...(headers && { headers }) };
      return endpoint.fromUpstream(upstreamResponseOf(body, options), query, target);
    },
  );
  const request = requestFor(
    rows.map((_, at) => `text ${at}`),
    modelWithTargets(target),
    { outputType: { type, field: "output_dtype" } },
  );
  return { understood, response: await send(request) };
}
