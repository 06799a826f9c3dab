/** Image capabilities of one target: the options, sizes and inputs it supports. The image plan adapts each query to them. */
import type { ImageOptions } from "./contract.ts";

/** Two options have rules of their own: how many, and how large. */
export type OptionName = Exclude<keyof ImageOptions, "n" | "size">;

export interface ImageCapabilities {
  /** The most pictures of one call; more are made by several calls. */
  readonly maxImages: number;
  /** Options it understands, by OpenAI's names, with the values it knows. What is not here it has not. */
  readonly takes: Readonly<Partial<Record<OptionName, "any" | readonly string[]>>>;
  /**
   * Options and values that are not among `takes` and are sent to it all the same, because the evidence against them is not
   * its vendor's own: a third party's report, or the vendor's silence. The upstream decides.
   */
  readonly undocumentedOptions?: ImageCapabilities["takes"];
  readonly sizes: Sizes;
  /**
   * Where it takes `output_compression`: the formats with which it does. Without a format it makes another one. Absent: not
   * known, and it decides.
   */
  readonly compresses?: readonly string[];
  /** Values of options that it does not take, because it always does so. */
  readonly always?: Readonly<Partial<Record<OptionName, string>>>;
  /** The longest prompt, in characters. Absent: not known. */
  readonly maxPrompt?: number;
  /** Of `user` and `safety_identifier`, of which it takes one, in characters. Absent: as long as anyone likes. */
  readonly userLength?: { readonly least: number; readonly most: number };
  /** Sends its answer piece by piece where it is asked to. */
  readonly streams?: boolean;
  /** It is sent what the caller sent, field by field. */
  readonly verbatim?: boolean;
  /** Whether it heeds `n` is not known: some servers make one picture, whatever they are asked for. */
  readonly mayIgnoreN?: true;
  /** Fields beyond OpenAI's that it knows. Others are left out, and that is told. Absent: all go along, and it decides. */
  readonly extras?: readonly string[];
  /** How it edits. Absent: it does not. */
  readonly edits?: EditCapabilities;
}

export type Sizes =
  /** Whatever is asked for goes along, and the target decides. */
  | "any"
  /** Exactly these, as WIDTHxHEIGHT. */
  | { readonly list: readonly string[] }
  | { readonly rule: SizeRule }
  /** It knows no sizes, only these shapes, as "16:9". */
  | { readonly ratios: readonly string[] };

/** Any width and height, and no names such as 2K: of targets that are told the two edges. */
export const anyEdges: Sizes = { rule: { multipleOf: 1, minEdge: 1, maxEdge: 99_999 } };

/** In pixels. */
export interface SizeRule {
  readonly multipleOf: number;
  readonly minEdge: number;
  readonly maxEdge: number;
  /** Fewer are refused. Absent: the upstream decides. */
  readonly minPixels?: number;
  readonly maxPixels?: number;
  /** The longer edge by the shorter. */
  readonly maxRatio?: number;
}

export interface EditCapabilities {
  /** The most pictures that go into one edit. */
  readonly maxImages: number;
  /**
   * How it wants to be shown what may change: where the mask is transparent, as OpenAI has it, or where a mask without
   * transparency is white or black. Absent: it takes no mask.
   */
  readonly mask?: "transparent" | "white" | "black";
  /** Fetches a picture from a link by itself. Absent: it must be sent the bytes. */
  readonly links?: boolean;
  /** Takes nothing but links that the public can follow: a file cannot be sent to it. */
  readonly linksOnly?: true;
  /** Knows files by ids of its own. */
  readonly fileIds?: boolean;
  /** Takes other files of a form along, such as `markup`. */
  readonly files?: boolean;
  /** Kinds of file it reads, such as image/png; others are converted. Absent: png, jpeg and webp. */
  readonly reads?: readonly string[];
  /** It refuses a PNG without an alpha channel, whether anything in it is transparent or not. */
  readonly needsAlpha?: true;
  /** The most bytes of one picture. Absent: not known. */
  readonly maxBytes?: number;
  /**
   * Where no size is said, it draws in one of its own, whatever it was given. So it is told the size of the first picture,
   * as near as this allows; unless there is a mask. Absent: it goes by the picture itself.
   */
  readonly matchFirstImage?: SizeRule;
}

/** Of a model that nobody knows: whatever is asked for goes along, and it says itself what it cannot do. */
export const unrestrictedImages: ImageCapabilities = {
  maxImages: 10,
  takes: Object.fromEntries(
    (
      [
        ...["quality", "background", "moderation", "output_format", "output_compression"],
        ...["response_format", "style", "user", "safety_identifier", "complexity", "frame_count"],
        ...["frame_duration_ms", "svg", "input_fidelity", "partial_images"],
      ] as OptionName[]
    ).map((name) => [name, "any"]),
  ),
  sizes: "any",
  streams: true,
  verbatim: true,
  mayIgnoreN: true,
  edits: { maxImages: 16, mask: "transparent", links: true, fileIds: true, files: true },
};
