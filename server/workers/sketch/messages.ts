/** The messages between the gateway and the process of the drawing program. */
import type { SketchEvent, SketchRequest } from "@vexel/sketch";

/** A request to the process: plain data, uploads included. */
export type SketchWorkerRequest = SketchRequest;

export type SketchResponsePart =
  | { readonly kind: "event"; readonly event: SketchEvent }
  /** The last part of a response. */
  | { readonly kind: "end" };
