/** The images of an edit request. */
import type { EditQuery, GenerationQuery, ImageSource } from "./contract.ts";

/** The input images, the mask and the markup. */
export const editSources = ({
  images,
  mask,
  markup,
}: Pick<EditQuery, "images" | "mask" | "markup">): readonly ImageSource[] =>
  mask || markup ? [...images, ...(mask ? [mask] : []), ...(markup ? [markup] : [])] : images;

/** The client's name of the parameter with the input images: `image` in a form, `images` in JSON. */
export const imagesField = ({ images }: Pick<EditQuery, "images">): "image" | "images" =>
  images.some((source) => source.kind === "file" && /^image(\[|$)/.test(source.file.field))
    ? "image"
    : "images";

/** The number of images that a request sends. */
export const countSources = (query: GenerationQuery | EditQuery): number =>
  "images" in query ? editSources(query).length : 0;
