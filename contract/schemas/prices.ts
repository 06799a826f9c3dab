/** `price` of vexel.yaml and of the forms of the console: the operator's price in US dollars. */

import { z } from "zod";
import { schemaText } from "../messages/schema-messages.ts";
import { boundedRecord } from "./bounded-record.ts";

const dollars = z.number().min(0).max(100_000);

/** For a million tokens. */
export const moderationPrice = z.strictObject({ input: dollars });

export const embeddingPrice = z.strictObject({
  /** For a million tokens. */
  input: dollars,
  /** For models that read images: for a million tokens of images, for each image, and for a million pixels. */
  imageInput: dollars.optional(),
  image: dollars.optional(),
  megapixel: dollars.optional(),
});

const imagePrices = boundedRecord(
  z
    .string()
    .max(100)
    .regex(/^(?:[\w.-]+|(?:[\w.-]+ )?(?:<=)?\d+x\d+)?$/, schemaText("image_price_name")),
  dollars,
  200,
);

const imagePriceMembers = z.strictObject({
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

export const imagePrice = imagePriceMembers
  .refine(({ input, output }) => (input === undefined) === (output === undefined), {
    message: schemaText("price_both"),
  })
  .refine(
    ({ imageInput, textOutput, input }) =>
      input !== undefined || (imageInput ?? textOutput) === undefined,
    { message: schemaText("price_beside") },
  );

export const priceKeys = {
  moderation: Object.keys(moderationPrice.shape),
  embedding: Object.keys(embeddingPrice.shape),
  image: Object.keys(imagePriceMembers.shape),
} as const;
