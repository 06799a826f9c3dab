/** IPC messages between the gateway and the image worker's process. */
import type { FileRange } from "../../temp-storage/request-temp.ts";

type ImageFormat = "png" | "jpeg" | "webp" | "gif" | "avif";

/** The result of decoding every pixel of an image. */
export interface ImageInspection {
  readonly type: string;
  /** As shown, with the orientation applied. */
  readonly width: number;
  readonly height: number;
  /** The image can have transparent pixels. */
  readonly alpha: boolean;
  /** Transparency is an alpha channel. A PNG may instead list transparent colors, which some programs ignore. */
  readonly alphaChannel: boolean;
  /** No pixel is transparent. */
  readonly opaque: boolean;
  /** The number of frames or pages. */
  readonly pages: number;
  /** The EXIF orientation: 1 is as stored. From 5 on the image is stored on its side, with width and height swapped. */
  readonly orientation: number;
}

export interface ImageConversion {
  readonly format: ImageFormat;
  /** 0 to 100, for jpeg, webp and avif. If absent, as lossless as the format allows. */
  readonly quality?: number;
  /** Flattened onto white. */
  readonly flatten?: boolean;
  /** Adds an alpha channel even if the image is opaque. */
  readonly alpha?: boolean;
}

/** The pixels of a mask that mark the area to edit. */
export type MaskConvention = "white" | "black" | "transparent";

export type ImageTask =
  | { readonly kind: "inspect" }
  | { readonly kind: "convert"; readonly to: ImageConversion }
  | { readonly kind: "mask"; readonly to: MaskConvention };

/** An image as sent to the process: a file location, or the bytes. */
export type SentImage =
  | { readonly kind: "file"; readonly range: FileRange; readonly encoding: "raw" | "base64" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

export interface ImageWorkerSpec {
  /** Maximum pixels, over all pages of an image. */
  readonly maxPixels: number;
}

export interface ImageWorkerRequest {
  readonly image: SentImage;
  readonly task: ImageTask;
  /** The file for a large result. If absent, the result is sent as bytes. */
  readonly into?: string;
}

/** Why a task failed. */
export type FailureReason =
  /** Not a supported format. */
  | "unknown"
  | "undecodable"
  | "too many pixels"
  /** Decoding would take far longer than the file size suggests. */
  | "too costly"
  /** The process cannot open the path: the system isolates processes. */
  | "unreachable"
  | "unwritable";

export type ImageWorkerResponsePart =
  /** The file is open, and decoding begins. `pixels`: of all pages. */
  | { readonly kind: "opened"; readonly pixels: number }
  | { readonly kind: "inspected"; readonly inspection: ImageInspection }
  /** The image has a C2PA manifest, which the converted image does not have. */
  | { readonly kind: "manifest-lost" }
  /** The next chunk of the result. Chunks, because a large message would block the gateway's event loop. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** The result is in the file. */
  | { readonly kind: "written" }
  | { readonly kind: "failed"; readonly reason: FailureReason; readonly problem: string };
