/** The images of an edit request. */
import type { EditQuery, GenerationQuery, ImageSource } from "./contract.ts";

/** The input images, the mask and the markup. */
export const editSources = ({
  images,
  mask,
  markup,
}: Pick<EditQuery, "images" | "mask" | "markup">): readonly ImageSource[] =>
  mask || markup ? [...images, ...(mask ? [mask] : []), ...(markup ? [markup] : [])] : images;

/** The number of images that a request sends. */
export const countSources = (query: GenerationQuery | EditQuery): number =>
  "images" in query ? editSources(query).length : 0;
