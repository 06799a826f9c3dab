/**
 * The types of upstream requests and responses, independent of the vendor. Queries are immutable: a retry starts again
 * from the same query.
 */

import type { ErrorKind } from "../../contract/errors.ts";
import type { Limits } from "../../contract/limits-and-budgets.ts";
import type { BorrowedChunks } from "../lib/borrowed-bytes.ts";
import type { EncodedVector } from "../lib/vector-codec/index.ts";
import type { SpilledBytes } from "../temp-storage/request-temp.ts";
import type { ImageInputPrice, Price } from "./price.ts";
import type { TaskType, TaskTypeTable } from "./task-type.ts";
import type { TokenizerName } from "./tokenizers.ts";

/** An image endpoint of OpenAI. */
export type ImageOperation = "generations" | "edits";

export type ExtraFields = Readonly<Record<string, unknown>>;

export interface Upstream {
  readonly id: string;
  /** The adapter, by name. */
  readonly kind: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Extra headers of every upstream request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Rate limits and concurrency limits over all of its models. */
  readonly limits?: Limits;
  /** Adapter-specific settings, such as Azure's `apiVersion` or a local model's `path`. */
  readonly options: ExtraFields;
}

/** One upstream's model behind a public model. */
export interface Target {
  readonly upstream: Upstream;
  readonly model: string;
  /** For an image model of OpenAI: use the Responses API instead of the Images API. */
  readonly surface?: "responses";
  /** With the Responses API: the language model that calls the image tool. */
  readonly via?: string;
  /** The configured price. If absent, the vendor's list price, if it is known. */
  readonly price?: Price;
  /** For an image model: the part of the price that is paid. The default is all of it. */
  readonly priceFactor?: number;
  /**
   * For an embedding model: US dollars for a million tokens, as configured or else by the vendor's list. The default
   * is not known.
   */
  readonly tokenPrice?: number;
  /** For an embedding model that reads images: its prices of images. Absent if not known. */
  readonly imageInputPrice?: ImageInputPrice;
  /** Targets of a lower tier are selected first. The default is 0. */
  readonly tier?: number;
  /** Its share of the requests of its tier. The default is 1. */
  readonly weight?: number;
  readonly limits?: Limits;
  /** The limit scopes that its requests count against: its own and its upstream's. */
  readonly scopes?: readonly string[];
}

export type EmbeddingInput =
  | { readonly kind: "text"; readonly texts: readonly string[] }
  | { readonly kind: "tokens"; readonly tokens: readonly (readonly number[])[] }
  | MixedInput;

/**
 * Texts, token arrays and images. The `split` stage separates them, as `mixed-input.ts` of this folder describes: an
 * adapter gets entries with images only.
 */
export interface MixedInput {
  readonly kind: "mixed";
  readonly entries: readonly InputEntry[];
}

/** One entry gives one vector: the model fuses its parts. */
export interface InputEntry {
  /** In the order of the client. At least one. Tokens are the only part of their entry. */
  readonly parts: readonly InputPart[];
}

export type InputPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokens: readonly number[] }
  | LinkedImage
  | ImagePart;

export interface ImagePart {
  readonly kind: "image";
  readonly image: InputImage;
  /** The client's name of it after its entry, for error messages: `.content[1].image_url`. */
  readonly member: string;
}

/** An image before it is loaded. */
export interface LinkedImage {
  readonly kind: "link";
  /** A `data:` URL, an http or https link, or the path of a link of this gateway. */
  readonly url: string;
  /** The client's name of the parameter, for error messages. */
  readonly param: string;
  /** From the header of an image in a `data:` URL. Absent if not known before the image is downloaded. */
  readonly pixels?: number;
}

/** An image of an embeddings request. Its bytes are checked, but not decoded. */
export interface InputImage {
  readonly file: FilePart;
  readonly width: number;
  readonly height: number;
  /** SHA-256 of the bytes that the client sent, in base64. */
  readonly hash: string;
}

export interface EmbeddingsQuery {
  /** The public model id. */
  readonly model: string;
  readonly input: EmbeddingInput;
  /** The client sent one bare string, or one flat token array. */
  readonly single: boolean;
  /** The encoding of the client's response; the upstream request may use the other one. */
  readonly encoding: "float" | "base64";
  readonly dimensions?: number;
  readonly user?: string;
  /** The task type, if the client sent one. */
  readonly taskType?: TaskType;
  /** Quantized vectors. The default is float32. */
  readonly outputType?: OutputType;
  /** Extra fields: passed through unchanged. */
  readonly extraFields: ExtraFields;
}

/**
 * int8, uint8: a byte for each dimension. ubinary: a bit for each dimension, 1 if the number is not negative, eight in
 * a byte, the first in the highest bit. binary: the same bytes minus 128.
 */
export type QuantizedType = "int8" | "uint8" | "binary" | "ubinary";

export interface OutputType {
  readonly type: QuantizedType;
  /** The client's field for it. */
  readonly field: string;
}

/** Embedding capabilities of one target. Earlier stages adapt every query to them. */
export interface EmbeddingCapabilities {
  /** Maximum inputs per request. */
  readonly maxItems: number;
  /** Maximum tokens per request, over all inputs. */
  readonly maxTokens?: number;
  /** Maximum bytes per request, over all texts. */
  readonly maxBytes?: number;
  /** Supports base64 responses: a quarter of the bytes and a fraction of the parsing. */
  readonly base64: boolean;
  /** Supports token arrays in the model's own vocabulary. */
  readonly tokens: boolean;
  /** The vocabulary of all its models. If absent, models differ, and the catalog has the vocabularies of some. */
  readonly tokenizer?: TokenizerName;
  /**
   * Supports `dimensions`: any, or these values. `own`: not supported, but its requests are free, so the length of its
   * vectors is compared if nothing else says what it is. If absent, not supported.
   */
  readonly dimensions?: "any" | "own" | readonly number[];
  /** Supports `user`. If absent, not supported. */
  readonly user?: boolean;
  /** Task types. `as-given`: passed through as the client sent it. `indifferent`: the model has no task types. */
  readonly taskTypes: "as-given" | "indifferent" | TaskTypeTable;
  /** The extra fields that it reads; it ignores all others. If absent, it may read any. */
  readonly extras?: readonly string[];
  /** Its vectors are normalized to length 1. Absent if not known. */
  readonly normalized?: boolean;
  /** The quantized types that it makes, and its field for them. `binary` is computed from its `ubinary`. */
  readonly outputTypes?: {
    readonly field: string;
    readonly types: readonly Exclude<QuantizedType, "binary">[];
  };
  /** How it reads images. If absent, it reads texts only. */
  readonly images?: ImageInputCapabilities;
}

/** The images that an embedding model reads. The gateway always sends bytes: it downloads links itself. */
export interface ImageInputCapabilities {
  /** Not every model of the upstream reads images, and the upstream refuses an image for one that does not. */
  readonly isAssumed?: true;
  /**
   * The parts of an entry that the model fuses into one vector. `sequence`: any parts, in order. `pair`: one text and
   * one image. If absent, an entry has one part.
   */
  readonly fuses?: "sequence" | "pair";
  /** Media types. An image of another type is converted to the first of them that fits. */
  readonly types: readonly string[];
  /** Maximum bytes of one image. */
  readonly maxBytes?: number;
  /** Maximum pixels of one image. */
  readonly maxPixels?: number;
  /** Maximum images of one entry. */
  readonly maxPerEntry?: number;
  /** Maximum entries with images per request. The default is `maxItems`. */
  readonly maxItems?: number;
  /** Maximum images per request, over all entries. */
  readonly maxPerRequest?: number;
  /** Maximum bytes of images per request. */
  readonly maxRequestBytes?: number;
}

/** A string is base64 of packed little-endian float32. A byte array is a quantized vector. */
export type Vector = string | EncodedVector | Float32Array | readonly number[] | QuantizedVector;

export type QuantizedVector = Int8Array | Uint8Array;

export interface EmbeddingsResponse {
  /** In input order, one for each input. */
  readonly vectors: readonly Vector[];
  /** As reported by the upstream, 0 included. Absent where it reports none. */
  readonly usage?: {
    readonly inputTokens: number;
    /**
     * The total, if the upstream reported another one. Only the client gets it; limits and costs count input tokens.
     */
    readonly totalTokens?: number;
    /** The tokens of each input, in input order, if they are known. They add up to `inputTokens`. */
    readonly perInput?: readonly number[];
    /** The part of `inputTokens` that are tokens of images, if it is known. */
    readonly imageTokens?: number;
  };
  /** For the client's `usage` if the upstream reports none: an estimate that knows the size of each image. */
  readonly estimatedTokens?: number;
  /** The cost in US dollars: as the upstream reports it, or of a request with images by the target's prices. */
  readonly cost?: number;
  /** An input was truncated, as the client allowed. Absent if not, or the upstream does not report it. */
  readonly truncated?: true;
  /** How the gateway changed the request. If absent, it did not. */
  readonly deviations?: Deviations;
  /**
   * The upstream's response body, if it can be sent to a client unchanged: it names this model and has this encoding.
   */
  readonly verbatim?: {
    readonly body: Buffer;
    readonly model: string;
    readonly encoding: "float" | "base64";
  };
}

/** The prompt of an image request, to be checked by a moderation model. */
export interface ModerationQuery {
  /** The image model of the request. */
  readonly model: string;
  /** One text. */
  readonly input: EmbeddingInput;
}

export interface ModerationResponse {
  readonly flagged: boolean;
  /** The upstream's names of the flagged categories. */
  readonly categories: readonly string[];
  /** As reported by the upstream. Absent where it reports none. */
  readonly usage?: { readonly inputTokens: number };
}

/** The options of an image request under their wire names. An option that the client did not send is absent. */
export interface ImageOptions {
  readonly n?: number;
  readonly size?: string;
  readonly quality?: string;
  readonly background?: string;
  readonly moderation?: string;
  readonly output_format?: string;
  readonly output_compression?: number;
  readonly response_format?: string;
  readonly style?: string;
  readonly user?: string;
  readonly safety_identifier?: string;
  readonly complexity?: string;
  readonly frame_count?: number;
  readonly frame_duration_ms?: number;
  readonly svg?: ExtraFields;
  readonly input_fidelity?: string;
  readonly partial_images?: number;
}

export interface GenerationQuery {
  readonly model: string;
  readonly prompt: string;
  readonly stream: boolean;
  readonly options: ImageOptions;
  /** Instead of a size, for a target that takes only aspect ratios: "16:9". */
  readonly aspectRatio?: string;
  /** The requested size, if the target takes only its aspect ratio. */
  readonly requestedSize?: string;
  /**
   * The number of this upstream request among those of one image request, from 1: without it, some targets generate the
   * same image each time.
   */
  readonly part?: number;
  /** The client fetches the response later, from an operation. */
  readonly isAsync?: true;
  readonly extraFields: ExtraFields;
}

/** An uploaded file: in memory when small, on disk when not. `stream` and `bytes` may be called again. */
export interface FilePart {
  /** The form field as the client spelled it: image, image[], image[0], mask, markup. */
  readonly field: string;
  readonly filename: string;
  /** From the magic bytes, never from the client's content type. */
  readonly type: string;
  readonly size: number;
  /** A path at which another process of this machine can read it during the request. If absent, it has none. */
  readonly path?: string;
  /** Keeps the file open while another process uses `path`, until the returned function is called. */
  keepOpen?(): (() => void) | undefined;
  /** All of it, in memory until the request ends. If absent, it is on disk. */
  readonly inMemory?: Uint8Array;
  stream(): BorrowedChunks;
  bytes(): Promise<Uint8Array>;
}

export type ImageSource =
  | { readonly kind: "file"; readonly file: FilePart }
  /** https: or data: URL. */
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "file_id"; readonly id: string };

export interface EditQuery extends GenerationQuery {
  readonly images: readonly ImageSource[];
  readonly mask?: ImageSource;
  /** A transparent PNG over the first image, with drawings and notes that guide the edit. */
  readonly markup?: ImageSource;
  /** Other files of the form. */
  readonly files: readonly FilePart[];
}

/** Metadata of the delivered images; absent if the upstream does not report it. */
export interface ImageMetadata {
  readonly size?: string;
  readonly quality?: string;
  readonly background?: string;
  readonly output_format?: string;
}

/** Wire names, as OpenAI reports them. */
export interface ImageUsage {
  readonly total_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly input_tokens_details?: ExtraFields;
  readonly output_tokens_details?: ExtraFields;
}

/** An image: base64 as the upstream sent it, raw bytes, spilled to disk, or a link. */
export type ImageContent =
  | { readonly kind: "base64"; readonly base64: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "spilled"; readonly spilled: SpilledBytes }
  | { readonly kind: "url"; readonly url: string };

/** An image whose bytes the gateway has, in memory or on disk. */
export type LoadedImage = Exclude<ImageContent, { kind: "url" }>;

export interface ImageResult {
  readonly image: ImageContent;
  readonly revised_prompt?: string;
  /**
   * The upstream's link cannot be passed on, and the client requested no format: the gateway responds with its own
   * link.
   */
  readonly linked?: true;
  /** Extra fields of the upstream's `data[]` entry. */
  readonly extraFields?: ExtraFields;
}

/** One event of a streamed response. */
export type ImageEvent =
  | StreamedImage
  /** The last event of an upstream that does not stream, after its partial images. */
  | { readonly type: "buffered"; readonly response: BufferedImageResponse };

export interface StreamedImage extends ImageMetadata {
  readonly type: "partial" | "completed";
  readonly image: LoadedImage;
  readonly created?: number;
  /** The index of a partial image: 0, 1, 2 … */
  readonly index?: number;
  /** The usage of a completed image. */
  readonly usage?: ImageUsage;
  readonly extraFields?: ExtraFields;
}

export interface BufferedImageResponse {
  readonly kind: "buffered";
  readonly results: readonly ImageResult[];
  /** How many images were generated, and so billed, if not all of them are delivered. */
  readonly generated?: number;
  /** Unix seconds. */
  readonly created?: number;
  readonly metadata: ImageMetadata;
  readonly usage?: ImageUsage;
  /** The cost that the upstream reports for this request, in US dollars. */
  readonly cost?: number;
  /** Extra fields of the upstream's response. */
  readonly extraFields?: ExtraFields;
  readonly deviations?: Deviations;
}

export type ImageResponse =
  | BufferedImageResponse
  | {
      readonly kind: "stream";
      readonly events: AsyncIterable<ImageEvent>;
      /** As far as they are known: the missing images at the end of the events. */
      readonly deviations?: () => Deviations;
    };

/** How a response differs from the request. Nothing is changed in silence: response headers name it. */
export interface Deviations {
  /** Parameters that the gateway applied in another way than by passing them on. */
  readonly adapted?: readonly string[] | undefined;
  /** Parameters that were removed before the upstream request, or that had no effect on the response. */
  readonly dropped?: readonly string[] | undefined;
  /** Images that could not be generated, while others of the same request could. */
  readonly missing?: MissingImages | undefined;
}

/** Images that were requested and are not part of the response: how many, and why. */
export interface MissingGroup {
  readonly count: number;
  /** Why they failed. Undefined if the upstream returned fewer images than requested. */
  readonly error: unknown;
  /** The upstream may have generated them, but no response reports their cost. */
  readonly mayBeBilled?: boolean;
}

export interface MissingImages {
  readonly count: number;
  readonly kind: ErrorKind;
  /** The error of the first missing image, if there was one. */
  readonly error?: unknown;
}

/** A built-in model. A missing capability is a missing key. */
export interface BuiltInModel {
  readonly embeddings?: (
    query: EmbeddingsQuery,
    target: Target,
    signal: AbortSignal,
  ) => Promise<EmbeddingsResponse>;
  readonly generations?: (
    query: GenerationQuery,
    target: Target,
    signal: AbortSignal,
    key?: string,
  ) => Promise<ImageResponse>;
  readonly edits?: (
    query: EditQuery,
    target: Target,
    signal: AbortSignal,
    key?: string,
  ) => Promise<ImageResponse>;
  close?(): Promise<void>;
}
