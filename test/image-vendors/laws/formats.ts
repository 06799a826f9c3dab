/** Laws: the image has the requested file format. */
import { expect } from "bun:test";
import { sniff } from "../../fake-upstream/image-info.ts";
import { draw } from "../ask.ts";
import type { PictureLaws } from "./law.ts";
import { expectTrue, picturesIn } from "./truth.ts";

const kinds = ["png", "jpeg", "webp"] as const;

export const formats: PictureLaws = {
  "the kind of file that was asked for is what the bytes are, and the answer says so": {
    about: "vendor",
    holds: async (place, operation) => {
      await Promise.all(
        kinds.map(async (kind) => {
          const answer = await draw(place, operation, {
            output_format: kind,
            response_format: "b64_json",
          });
          const pictures = picturesIn(answer);
          expect(pictures.map((picture) => sniff(picture)?.format)).toEqual([kind]);
          expect(answer.body.output_format).toBe(kind);
          expectTrue(answer, pictures);
        }),
      );
    },
  },

  "more compression makes a smaller file": {
    about: "vendor",
    holds: async (place, operation) => {
      for (const output_format of ["jpeg", "webp"] as const) {
        const [small = 0, large = 0] = await Promise.all(
          [5, 95].map(async (output_compression) => {
            const wish = { output_format, output_compression, response_format: "b64_json" };
            const answer = await draw(place, operation, wish);
            const [picture = new Uint8Array()] = picturesIn(answer);
            expect(sniff(picture)?.format).toBe(output_format);
            return picture.length;
          }),
        );
        expect(small).toBeGreaterThan(0);
        expect(small, `${output_format}: ${small} and ${large} bytes`).toBeLessThan(large);
      }
    },
  },
};
