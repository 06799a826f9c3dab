/**
 * Refuses passthrough fields that change the encoding of an upstream's vectors. Quantized vectors are requested by
 * `output_dtype` and its other names (`output-type.ts`), which are not passed through. Adapters read vectors as
 * float32: int8 numbers, reversed bytes or several vectors for one input would be misread, or fail as an invalid
 * response.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { isEmptyObject } from "../lib/large-json.ts";
import { quotedList } from "../lib/quoted-list.ts";
import type { ExtraFields } from "../upstream/contract.ts";
import { outputTypeFields, quantizedTypes } from "./output-type.ts";

/**
 * The values that leave vectors as float32, by field. A field is refused at every kind of upstream: the gateway cannot
 * respond with another encoding, and a gateway behind this one may pass the field on.
 */
export const encodingFields: ReadonlyMap<string, readonly (string | boolean)[]> = new Map([
  // voyageai 0.5.0, `_resolve_numpy_dtype`; mistralai 3.7.0, EmbeddingDtype: int8, uint8, binary, ubinary.
  ["output_dtype", ["float"]],
  // vllm 0.33.0, pooling/base/protocol.py, EncodingRequestMixin: float16, bfloat16, fp8_e4m3, fp8_e5m2; big.
  ["embed_dtype", ["float32"]],
  ["endianness", ["native", "little"]],
  // api.jina.ai/openapi.json (2026.04.02) and docs.nvidia.com/nim/nemo-retriever/text-embedding: binary, ubinary, int8,
  // uint8. Base64 is of float32.
  ["embedding_type", ["float", "base64"]],
  // Jina's earlier name of it, which llama-index-embeddings-jinaai sends.
  ["encoding_type", ["float", "base64"]],
  // cohere 7.3.1, EmbeddingType.
  ["embedding_types", ["float", "base64"]],
  // Amazon Titan Text Embeddings V2: binary. oci 2.189.0, EmbedTextDetails: Cohere's, each in a field of its own.
  ["embeddingTypes", ["float"]],
  // Voyage's earlier name of `encoding_format`.
  ["output_encoding", ["base64"]],
  // In `extra_body`, for example. At the top level, the schema of the request checks it.
  ["encoding_format", ["float", "base64"]],
  // api.jina.ai/openapi.json: a vector for each token of an input.
  ["return_multivector", [false]],
  // dashscope 2.0.2, TextEmbedding.call: sparse, dense&sparse.
  ["output_type", ["dense"]],
  // Triton, docs/protocol/extension_binary_data.md: the response is not JSON.
  ["binary_data", [false]],
  ["binary_data_output", [false]],
]);

/** Throws at the first such field, nested ones included. The bounds of JSON bodies limit the work. */
export function refuseOtherEncodings(extraFields: ExtraFields): void {
  if (!isEmptyObject(extraFields)) checkMembers(extraFields, []);
}

/** The names and indexes that lead to a value. Text only in an error: a body may have a hundred thousand objects. */
type Path = (string | number)[];

function checkMembers(fields: ExtraFields, path: Path): void {
  for (const name in fields) {
    const value = fields[name];
    const float32 = encodingFields.get(name);
    path.push(name);
    if (float32) checkValue(value, path, float32);
    else if (typeof value === "object" && value !== null) checkNested(value, path);
    path.pop();
  }
}

function checkNested(value: object, path: Path): void {
  if (!Array.isArray(value)) {
    checkMembers(value as ExtraFields, path);
    return;
  }
  const entries: readonly unknown[] = value;
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at];
    path.push(at);
    if (typeof entry === "object" && entry !== null) checkNested(entry, path);
    path.pop();
  }
}

const textOf = (path: Path): string =>
  path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at > 0 ? "." : ""}${step}`))
    .join("");

/** Some vendors take a list of encodings: with one entry, it is that encoding. */
function checkValue(value: unknown, path: Path, float32: readonly (string | boolean)[]): void {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const [only] = list;
  if (list.length === 1 && (only === null || float32.some((one) => one === only))) return;
  const param = textOf(path);
  if (outputTypeFields.some((field) => field === param)) throw unknownOutputType(param, float32);
  throw new GatewayError(
    "invalid_value",
    `Invalid value for '${param}': this gateway passes on only values that leave vectors as float32 numbers. Supported values are: ${quotedList(float32.map(String))}. Send one of these, or omit the field; for quantized vectors, send 'output_dtype' at the top level of the request.`,
    { param },
  );
}

/** At the top level, the field requests quantized vectors too. */
const unknownOutputType = (param: string, float32: readonly (string | boolean)[]): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid value for '${param}'. Supported values are: ${quotedList([...float32.map(String), ...quantizedTypes])}. Send one of these, or omit the field for float32 vectors.`,
    { param },
  );
