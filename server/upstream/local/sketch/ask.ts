/** What the gateway asks of the drawing program's process, and what comes back. */
import type {
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageEvent,
  ImageReply,
  ImageResult,
  ImageSource,
} from "../../contract.ts";

/** A file with its content in place of the ways to read it, which do not cross between processes. */
export type SentFile = Omit<FilePart, "stream" | "bytes"> & { readonly content: Uint8Array };
export type SentSource =
  | { readonly kind: "file"; readonly file: SentFile }
  | Exclude<ImageSource, { kind: "file" }>;

export type SentEdit = Omit<EditQuery, "images" | "mask" | "files"> & {
  readonly images: readonly SentSource[];
  readonly mask?: SentSource;
  readonly files: readonly SentFile[];
};

export type SketchAsk =
  | { readonly operation: "generations"; readonly query: GenerationQuery }
  | { readonly operation: "edits"; readonly query: SentEdit };

export type SketchPart =
  | { readonly kind: "event"; readonly event: ImageEvent }
  | { readonly kind: "result"; readonly result: ImageResult }
  /** What is true of all the results; the last part of a call, and of a stream an empty one. */
  | {
      readonly kind: "end";
      readonly rest: Omit<Extract<ImageReply, { kind: "whole" }>, "kind" | "results">;
    };
