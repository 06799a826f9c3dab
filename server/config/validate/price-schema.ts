/** `price` in vexel.yaml: the operator's price in US dollars. It replaces the listed price. */
import { z } from "zod";
import { boundedRecord } from "../../../contract/schemas/bounded-record.ts";
import type { Price } from "../../upstream/price.ts";

const dollars = z.number().min(0).max(100_000);

/** For a million tokens. */
const tokens = z.strictObject({ input: dollars });

const embedding = z.strictObject({
  ...tokens.shape,
  /** For models that read images: for a million tokens of images, for each image, and for a million pixels. */
  imageInput: dollars.optional(),
  image: dollars.optional(),
  megapixel: dollars.optional(),
});

const imagePrices = boundedRecord(
  z
    .string()
    .max(100)
    .regex(
      /^(?:[\w.-]+|(?:[\w.-]+ )?(?:<=)?\d+x\d+)?$/,
      "must be a quality, a size such as 1024x1024 or <=1024x1024, or a quality and a size",
    ),
  dollars,
  200,
);

const image = z.strictObject({
  /** For each image. */
  image: dollars.optional(),
  /** For each image, by quality and size. */
  images: imagePrices.optional(),
  /** For each million pixels. */
  megapixel: dollars.optional(),
  /** For a million tokens: of text input, of image input, and of output. */
  input: dollars.optional(),
  imageInput: dollars.optional(),
  output: dollars.optional(),
  /** For a million tokens of text output, if its price differs from that of image output. */
  textOutput: dollars.optional(),
});

export const moderationPrice = tokens.transform(
  ({ input }): Price => ({ tokens: { textIn: input } }),
);

export const embeddingPrice = embedding.transform(
  ({ input, imageInput, image: each, megapixel }): Price => ({
    tokens: { textIn: input, ...(imageInput !== undefined && { imageIn: imageInput }) },
    ...(each !== undefined && { images: { "": each } }),
    ...(megapixel !== undefined && { megapixel }),
  }),
);

export const imagePrice = image
  .refine(({ input, output }) => (input === undefined) === (output === undefined), {
    message: "needs both `input` and `output`, or neither",
  })
  .refine(
    ({ imageInput, textOutput, input }) =>
      input !== undefined || (imageInput ?? textOutput) === undefined,
    {
      message: "needs `input` and `output` beside `imageInput` and `textOutput`",
    },
  )
  .transform(
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

export const priceKeys = {
  moderation: Object.keys(tokens.shape),
  embedding: Object.keys(embedding.shape),
  image: Object.keys(image.shape),
} as const;
