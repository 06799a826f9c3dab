/** `price` in vexel.yaml: the operator's price in US dollars. It overrides the listed price. */
import { z } from "zod";
import type { Price } from "../lib/price.ts";

const dollars = z.number().min(0).max(100_000);

const embedding = z.strictObject({
  /** For a million tokens. */
  input: dollars,
});

const pictures = z.record(
  z
    .string()
    .regex(
      /^(?:[\w.-]+|(?:[\w.-]+ )?(?:<=)?\d+x\d+)?$/,
      "must be a quality, a size such as 1024x1024 or <=1024x1024, or a quality and a size",
    ),
  dollars,
);

const image = z.strictObject({
  /** For each. */
  picture: dollars.optional(),
  /** For each, by quality and size. */
  pictures: pictures.optional(),
  /** For each million pixels. */
  megapixel: dollars.optional(),
  /** For a million tokens: of text, of pictures that are sent, and of all that comes back. */
  input: dollars.optional(),
  imageInput: dollars.optional(),
  output: dollars.optional(),
  /** Where what comes back as text costs something else. */
  textOutput: dollars.optional(),
});

export const embeddingPrice = embedding.transform(
  ({ input }): Price => ({ tokens: { textIn: input } }),
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
    ({ picture, pictures: table, megapixel, input, imageInput, output, textOutput }): Price => ({
      ...((table || picture !== undefined) && {
        pictures: { ...(picture !== undefined && { "": picture }), ...table },
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
  embedding: Object.keys(embedding.shape),
  image: Object.keys(image.shape),
} as const;
