/** A mask for Workers AI: a list of numbers in a body whose content-length is sent before the mask is read. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { withMask } from "../../server/upstream/adapters/cloudflare/mask.ts";
import { FileContent } from "../../server/upstream/adapters/wire/build-request.ts";
import type { FilePart } from "../../server/upstream/contract.ts";
import { readAll } from "../chunks.ts";
import { tries } from "../depth.ts";

/** A file that is read in chunks, as from disk. Some chunks are empty. */
const fileOf = (chunks: readonly Uint8Array[]): FilePart => {
  const bytes = Buffer.concat(chunks);
  return {
    field: "mask",
    filename: "mask.png",
    type: "image/png",
    size: bytes.length,
    stream: () =>
      new ReadableStream({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk);
          controller.close();
        },
      }),
    bytes: async () => bytes,
  };
};

const files = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }).map(fileOf);

test("the mask and all other parts arrive unchanged, with exactly the declared length", async () => {
  await fc.assert(
    fc.asyncProperty(files, files, fc.string({ unit: "grapheme" }), async (mask, image, prompt) => {
      for (const image_b64 of [undefined, new FileContent(image)]) {
        const body = withMask({ prompt, image_b64 }, mask);
        for (const _ of ["the first attempt", "the second"]) {
          const sent = await readAll(body.open());
          expect(sent.length).toBe(body.length);
          expect(JSON.parse(sent.toString())).toEqual({
            mask: [...(await mask.bytes())],
            prompt,
            ...(image_b64 && { image_b64: Buffer.from(await image.bytes()).toString("base64") }),
          });
        }
      }
    }),
    tries(50),
  );
});
