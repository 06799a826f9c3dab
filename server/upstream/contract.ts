/**
 * The types of upstream requests and responses, independent of the vendor. Queries are immutable: a retry starts again
 * from the same query.
 */

import type { Pieces } from "../lib/chunked-bytes.ts";
import type { EncodedVector } from "../lib/codec/encoded-vector.ts";
import type { Limits } from "../lib/limits.ts";
import type { Price } from "../lib/price.ts";
import type { Aside } from "../lib/request-temp.ts";
import type { Signal } from "../lib/signal.ts";
import type { TaskType, TaskTypeTable } from "./task-type.ts";
import type { TokenizerName } from "./tokenizers.ts";

export type ExtraFields = Readonly<Record<string, unknown>>;

export interface Upstream {
  readonly id: string;
  /** The adapter, by name. */
  readonly kind: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** Extra headers sent with every call to it. */
  readonly headers: Readonly<Record<string, string>>;
  /** How much may be asked of it, over all its models. */
  readonly limits?: Limits;
  /** Adapter-specific settings, such as Azure's `apiVersion` or a local model's `path`. */
  readonly options: ExtraFields;
}

/** One upstream's model behind a public model. */
export interface Target {
  readonly upstream: Upstream;
  readonly model: string;
  /** Of an image model at OpenAI: pictures through its Responses API instead of its Images API. */
  readonly surface?: "responses";
  /** There, the language model that calls the image tool. */
  readonly via?: string;
  /** What it charges, where the configuration says so. Absent: as the vendor lists it, if it is known. */
  readonly price?: Price;
  /** Lower ones are asked first. Absent: 0. */
  readonly tier?: number;
  /** Its part of the calls of its tier. Absent: 1. */
  readonly weight?: number;
  readonly limits?: Limits;
  /** By which names calls to it are counted: its own, its upstream's. Absent: by none. */
  readonly scopes?: readonly string[];
}

export type EmbeddingInput =
  | { readonly kind: "text"; readonly texts: readonly string[] }
  | { readonly kind: "tokens"; readonly tokens: readonly (readonly number[])[] };

export interface EmbeddingsQuery {
  /** The public model id. */
  readonly model: string;
  readonly input: EmbeddingInput;
  /** The caller sent one bare string, or one flat token array. */
  readonly single: boolean;
  /** What the caller wants back; an upstream may be asked for the other. */
  readonly encoding: "float" | "base64";
  readonly dimensions?: number;
  readonly user?: string;
  /** What the vectors are for, where the caller said so. */
  readonly taskType?: TaskType;
  /** Fields the gateway does not act on, carried along untouched. */
  readonly rest: ExtraFields;
}

/** What one target can take. The stages see to it that no query asks for more. */
export interface EmbeddingCapabilities {
  /** The most inputs of one call. */
  readonly maxItems: number;
  /** The most tokens of all inputs of one call together. */
  readonly maxTokens?: number;
  /** The most bytes of all texts of one call together. */
  readonly maxBytes?: number;
  /** Answers in base64: a quarter of the bytes and a fraction of the parsing. */
  readonly base64: boolean;
  /** Takes arrays of tokens, in the model's own vocabulary. */
  readonly tokens: boolean;
  /** The vocabulary of all its models. Absent: they differ, and the catalog may know. */
  readonly tokenizer?: TokenizerName;
  /** Makes shorter vectors itself: of any length, or of these. Absent: it does not. */
  readonly dimensions?: "any" | readonly number[];
  /** Takes `user`. Absent: it has no such field. */
  readonly user?: boolean;
  /** How it wants to hear what vectors are for. `as-given`: as the caller says it. `indifferent`: its vectors serve all. */
  readonly taskTypes: "as-given" | "indifferent" | TaskTypeTable;
  /** Its vectors have length 1. Absent: not known. */
  readonly normalized?: boolean;
}

/** What is encoded is base64 of packed little-endian float32. */
export type Vector = string | EncodedVector | Float32Array | readonly number[];

export interface EmbeddingsResponse {
  /** In input order, one for each input. */
  readonly vectors: readonly Vector[];
  /** As reported by the upstream, 0 included. Absent where it reports none. */
  readonly usage?: {
    readonly inputTokens: number;
    /** Of each input, in input order, where they are known. They add up to `inputTokens`. */
    readonly perInput?: readonly number[];
  };
  /** The end of an input was cut off, as the client allowed. Absent: no, or the upstream does not say. */
  readonly truncated?: true;
  /** The upstream's own answer, where it may serve a caller as it is: it names this model and is in this encoding. */
  readonly verbatim?: {
    readonly body: Pieces;
    readonly model: string;
    readonly encoding: "float" | "base64";
  };
  /** The whole answer, made before for the same question to the same model. */
  readonly ready?: { readonly body: Uint8Array; readonly model: string };
}

/** The options of an image call under their wire names; absent stays absent. */
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
  /** In place of a size, for a target that knows only shapes: "16:9". */
  readonly aspectRatio?: string;
  /** The size that was asked for, where only its shape could be told. */
  readonly requestedSize?: string;
  /** Which of several calls for one order it is, from 1: for a target that draws the same each time unless it is told. */
  readonly part?: number;
  readonly rest: ExtraFields;
}

/** An uploaded file: in memory when small, on disk when not. `stream` and `bytes` may be called again. */
export interface FilePart {
  /** The form field as the caller spelled it: image, image[], image[0], mask. */
  readonly field: string;
  readonly filename: string;
  /** From the magic bytes, never from what the caller claims. */
  readonly type: string;
  readonly size: number;
  /** Where another process of this machine can read it while the call lasts. Absent: in memory, or nowhere. */
  readonly path?: string;
  /** Keeps the file open while another process uses `path`, until the returned function is called. */
  lend?(): (() => void) | undefined;
  /** Each piece lives only until the next is asked for. */
  stream(): ReadableStream<Uint8Array>;
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
  /** Other files of the form, such as `markup`. */
  readonly files: readonly FilePart[];
}

/** What is true of the delivered pictures; absent where the upstream does not say. */
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

/** A picture: base64 as the upstream sent it, or raw bytes, or on disk, or a link. */
export type ImageContent =
  | { readonly kind: "base64"; readonly base64: string }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "aside"; readonly aside: Aside }
  | { readonly kind: "url"; readonly url: string };

/** One that is here, wherever it lies. */
export type LoadedImage = Exclude<ImageContent, { kind: "url" }>;

export interface ImageResult {
  readonly image: ImageContent;
  readonly revised_prompt?: string;
  /** It came as a link that could not be handed on, and the client asked for no form: it leaves as a link of ours. */
  readonly linked?: true;
  /** Other members of the upstream's `data[]` entry. */
  readonly rest?: ExtraFields;
}

/** One piece of a streamed answer. */
export type ImageEvent =
  | StreamedImage
  /** An upstream that does not stream ends so, after whatever previews it gave. */
  | { readonly type: "whole"; readonly reply: BufferedImageResponse };

export interface StreamedImage extends ImageMetadata {
  readonly type: "partial" | "completed";
  readonly image: LoadedImage;
  readonly created?: number;
  /** Of a partial: 0, 1, 2 … */
  readonly index?: number;
  /** Of a completed picture. */
  readonly usage?: ImageUsage;
  readonly rest?: ExtraFields;
}

export interface BufferedImageResponse {
  readonly kind: "whole";
  readonly results: readonly ImageResult[];
  /** How many were made and so paid for, where not all of them are handed over. */
  readonly generated?: number;
  /** Unix seconds. */
  readonly created?: number;
  readonly metadata: ImageMetadata;
  readonly usage?: ImageUsage;
  /** What the upstream itself says that this call cost, in US dollars. */
  readonly cost?: number;
  /** Other members of the upstream's answer. */
  readonly rest?: ExtraFields;
}

export type ImageResponse =
  | BufferedImageResponse
  | { readonly kind: "stream"; readonly events: AsyncIterable<ImageEvent> };

/** An upstream inside this machine. A missing capability is a missing key. */
export interface EmbeddedModel {
  readonly embeddings?: (
    query: EmbeddingsQuery,
    target: Target,
    signal: Signal,
  ) => Promise<EmbeddingsResponse>;
  readonly generations?: (
    query: GenerationQuery,
    target: Target,
    signal: Signal,
  ) => Promise<ImageResponse>;
  readonly edits?: (query: EditQuery, target: Target, signal: Signal) => Promise<ImageResponse>;
  close?(): Promise<void>;
}
