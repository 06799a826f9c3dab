/**
 * One vendor's embeddings API, for the laws and the fake upstreams: a target, a parser of the gateway's requests, and
 * the vendor's responses and errors. Each vendor has its case in a file beside this one.
 */
import type { ErrorKind } from "../../contract/errors.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type {
  EmbeddingInput,
  QuantizedType,
  QuantizedVector,
  Target,
} from "../../server/upstream/contract.ts";

/** A request as the vendor understands it. */
export interface Understood {
  readonly input: EmbeddingInput;
  readonly dimensions?: number;
  /** The vendor's own term. */
  readonly taskType?: string;
  readonly encoding: "float" | "base64";
  /** The default is float32. */
  readonly outputType?: QuantizedType;
}

export interface VendorResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface VendorCase {
  /** Unique; the kind, and the family or surface where one kind has several. */
  readonly name: string;
  readonly target: Target;
  /** Throws if the vendor would refuse the request: wrong URL, wrong header, wrong field. */
  readonly understand: (request: UpstreamRequest, target: Target) => Understood;
  /** The vendor's response with these vectors. `tokens` undefined: it omits usage, where that is allowed. */
  readonly response: (
    vectors: readonly Float32Array[],
    tokens: number | undefined,
  ) => VendorResponse;
  /** The same with quantized vectors. If absent, the vendor makes none. */
  readonly quantized?: (vectors: readonly QuantizedVector[], type: QuantizedType) => VendorResponse;
  /** The same for entries with images. If absent, it is the same. */
  readonly imageResponse?: VendorCase["response"];
  /** Whether the vendor ever reports usage. */
  readonly tellsUsage: boolean;
  /** The vendor's error responses, as recorded or documented, and the errors they map to. */
  readonly refusals: readonly VendorRefusal[];
}

type VendorRefusal = VendorResponse & { readonly error: ErrorKind };

/** Error responses in rows: the error that the response maps to, its status, its body and its headers. */
export const refusalsOf = (
  rows: readonly (readonly [ErrorKind, number, string, VendorResponse["headers"]?])[],
): readonly VendorRefusal[] =>
  rows.map(([error, status, body, headers = {}]) => ({ error, status, body, headers }));
