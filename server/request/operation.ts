/** What a request asks for. */
import type { ModelKind } from "../../contract/model-kinds.ts";
import type { ImageOperation } from "../upstream/contract.ts";

export type Operation = "embeddings" | ImageOperation | "moderations";

export const modelKindOf = (operation: Exclude<Operation, "moderations">): ModelKind =>
  generatesImages(operation) ? "image" : "embedding";

/** A second copy of such a request generates, and bills, other images. */
export const generatesImages = (operation: Operation): boolean =>
  operation === "generations" || operation === "edits";
