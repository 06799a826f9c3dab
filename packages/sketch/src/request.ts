/**
 * The request of `draw`, and the events that it yields. All of it is plain data, so that requests and events can be
 * sent to another process. Options and facts have the names of OpenAI's Images API, because errors refer to them by
 * name.
 */

export interface SketchRequest {
  readonly prompt: string;
  readonly options?: SketchOptions;
  /** The inputs of an edit. If absent, a new image is generated. */
  readonly edit?: EditSources;
  /** True: `partial_images` partial images come before each image. The formats gif and svg cannot be streamed. */
  readonly stream?: boolean;
}

export interface EditSources {
  readonly images: readonly ImageInput[];
  /** A PNG file of the size of the first image. Its transparent pixels mark the area to change. */
  readonly mask?: ImageInput;
  /** An overlay that is drawn over the first image before the edit. */
  readonly markup?: ImageInput;
}

export type ImageInput =
  /** The content of a PNG, JPEG, WebP or GIF file. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** A `data:` URL in base64. Other URLs are refused. */
  | { readonly kind: "url"; readonly url: string }
  /** Always refused: there is no file store. */
  | { readonly kind: "file_id"; readonly id: string };

/** Not yet validated: `draw` refuses values that it does not know. */
export interface SketchOptions {
  readonly n?: number;
  readonly size?: string;
  readonly quality?: string;
  readonly background?: string;
  readonly moderation?: string;
  readonly output_format?: string;
  readonly output_compression?: number;
  readonly response_format?: string;
  readonly style?: string;
  readonly complexity?: string;
  readonly frame_count?: number;
  readonly frame_duration_ms?: number;
  readonly svg?: unknown;
  readonly input_fidelity?: string;
  readonly partial_images?: number;
  /** The same prompt, options and seed draw the same bytes. Default 0. */
  readonly seed?: unknown;
}

export interface ImageFacts {
  /** WIDTHxHEIGHT */
  readonly size: string;
  readonly quality: string;
  readonly background: "opaque" | "transparent";
  readonly output_format: string;
}

/** A partial image. Later ones are closer to the completed image. */
export interface PartialImage extends ImageFacts {
  readonly type: "partial";
  readonly bytes: Uint8Array;
  /** 0, 1, 2 within one image. */
  readonly index: number;
}

export interface CompletedImage extends ImageFacts {
  readonly type: "completed";
  readonly bytes: Uint8Array;
  /** One sentence that says what the program understood and drew. */
  readonly revised_prompt: string;
  /** The first image carries the input tokens, so that the sum over all images is the usage of the request. */
  readonly usage: Usage;
}

/** For each of `n` images: its partial images, then the image. */
export type SketchEvent = PartialImage | CompletedImage;

export interface Usage {
  readonly total_tokens: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly input_tokens_details: { readonly text_tokens: number; readonly image_tokens: number };
  readonly output_tokens_details: { readonly text_tokens: number; readonly image_tokens: number };
}
