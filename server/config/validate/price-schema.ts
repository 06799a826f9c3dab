/** `price` in vexel.yaml: the operator's price in US dollars. It replaces the listed price. */
import * as prices from "../../../contract/schemas/prices.ts";
import type { Price } from "../../upstream/price.ts";

export const moderationPrice = prices.moderationPrice.transform(
  ({ input }): Price => ({ tokens: { textIn: input } }),
);

export const embeddingPrice = prices.embeddingPrice.transform(
  ({ input, imageInput, image: each, megapixel }): Price => ({
    tokens: { textIn: input, ...(imageInput !== undefined && { imageIn: imageInput }) },
    ...(each !== undefined && { images: { "": each } }),
    ...(megapixel !== undefined && { megapixel }),
  }),
);

export const imagePrice = prices.imagePrice.transform(
  ({ image: each, images, megapixel, input, imageInput, output, textOutput }): Price => ({
    ...((images || each !== undefined) && {
      images: { ...(each !== undefined && { "": each }), ...images },
    }),
    ...(megapixel !== undefined && { megapixel }),
    ...(input !== undefined &&
      output !== undefined && {
        tokens: {
          textIn: input,
          imageIn: imageInput ?? input,
          textOut: textOutput ?? output,
          imageOut: output,
        },
      }),
  }),
);
