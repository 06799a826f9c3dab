/** What the gateway asks of the darkroom's process, and what comes back. */
import type { Place } from "../../lib/request-temp.ts";

export const formats = ["png", "jpeg", "webp", "gif", "avif"] as const;
export type Format = (typeof formats)[number];

/** What a look at every pixel of a picture tells. */
export interface ImageInspection {
  readonly type: string;
  /** As it is shown, after its orientation is applied. */
  readonly width: number;
  readonly height: number;
  /** It can have transparent pixels. */
  readonly alpha: boolean;
  /** Each pixel says how transparent it is. A PNG may instead name colours that are, which some programs do not heed. */
  readonly alphaChannel: boolean;
  /** It has none. */
  readonly opaque: boolean;
  /** How many pictures follow each other in it. */
  readonly pages: number;
  /**
   * How EXIF says that it is to be turned and mirrored before it is shown, by EXIF's numbers: 1 is as it is stored. From 5
   * on it is stored on its side: width and height are exchanged in the file.
   */
  readonly orientation: number;
}

export interface Conversion {
  readonly format: Format;
  /** 0 to 100, of jpeg, webp and avif. Absent: as little is lost as the format allows. */
  readonly quality?: number;
  /** Without transparency, on white. */
  readonly flatten?: boolean;
  /** With an alpha channel, also where nothing is transparent. */
  readonly alpha?: boolean;
  /** A PNG that is as small as it becomes without a loss. Takes several times as long. */
  readonly packed?: boolean;
}

/** Where a mask is so, the picture may change. */
export type MaskSense = "white" | "black" | "transparent";

export interface MaskForm {
  readonly sense: MaskSense;
  /** Turned and mirrored besides, as EXIF's number says: so that it lies as the picture does that it was drawn on. */
  readonly orientation?: number;
}

export type Task =
  | { readonly kind: "inspect" }
  | { readonly kind: "convert"; readonly to: Conversion }
  | { readonly kind: "mask"; readonly to: MaskForm };

/** A picture on its way to the process: where it lies, or the bytes themselves. */
export type SentImage =
  | { readonly kind: "place"; readonly place: Place; readonly encoding: "raw" | "base64" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

export interface ImageWorkerSpec {
  /** Of all pages of a picture together. */
  readonly maxPixels: number;
}

export interface ImageWorkerRequest {
  readonly picture: SentImage;
  readonly task: Task;
  /** The file that a large result is written into. Absent: it comes as bytes. */
  readonly into?: string;
}

/** Why there is no result. */
export type FailureReason =
  /** Not a kind of picture that is read. */
  | "unknown"
  | "undecodable"
  | "too many pixels"
  /** It would take far more time to decode than its size tells. */
  | "too costly"
  /** The path leads nowhere from there: the system keeps processes apart. */
  | "unreachable"
  | "unwritable";

export type ImageWorkerResponsePart =
  /** The file was opened and is about to be decoded. `pixels`: of all pages. */
  | { readonly kind: "opened"; readonly pixels: number }
  | { readonly kind: "seen"; readonly seen: ImageInspection }
  /** The next piece of the result. Pieces, because a large message would hold up the gateway's event loop. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** The result lies in the file. */
  | { readonly kind: "written" }
  | { readonly kind: "failed"; readonly why: FailureReason; readonly words: string };
