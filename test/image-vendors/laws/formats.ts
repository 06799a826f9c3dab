/** Laws: the image has the requested file format. */
import { expect } from "bun:test";
import { sniff } from "../../fake-upstream/image-info.ts";
import type { FakeVendor } from "../image-vendor.ts";
import { capabilitiesOf, type Operation } from "../law-gateway.ts";
import { generate } from "../send-request.ts";
import { expectConsistent, imagesIn } from "./expect-response.ts";
import type { ImageLaws } from "./law.ts";

const kinds = ["png", "jpeg", "webp"] as const;

/**
 * Equal for models of one adapter that take the same formats and the same compression, and for all that take neither:
 * there the gateway converts the image, whatever the vendor.
 */
function declaredFormats(vendor: FakeVendor, operation: Operation): string {
  const { takes } = capabilitiesOf(vendor, "http://127.0.0.1", operation);
  if (!takes.output_format && !takes.output_compression) return "by the gateway";
  return JSON.stringify([vendor.kind, takes.output_format, takes.output_compression]);
}

/** Equal where the gateway compresses the image, whatever the vendor. */
function declaredCompression(vendor: FakeVendor, operation: Operation): string {
  const { takes } = capabilitiesOf(vendor, "http://127.0.0.1", operation);
  return takes.output_compression ? declaredFormats(vendor, operation) : "by the gateway";
}

export const formats: ImageLaws = {
  "the image has the requested file format, and the response reports it": {
    about: "vendor",
    alike: declaredFormats,
    holds: async (context, operation) => {
      await Promise.all(
        kinds.map(async (kind) => {
          const response = await generate(context, operation, {
            output_format: kind,
            response_format: "b64_json",
          });
          const images = imagesIn(response);
          expect(images.map((image) => sniff(image)?.format)).toEqual([kind]);
          expect(response.body.output_format).toBe(kind);
          expectConsistent(response, images);
        }),
      );
    },
  },

  "more compression makes a smaller file": {
    about: "vendor",
    alike: declaredCompression,
    holds: async (context, operation) => {
      for (const output_format of ["jpeg", "webp"] as const) {
        const [small = 0, large = 0] = await Promise.all(
          [5, 95].map(async (output_compression) => {
            const requestOptions = {
              output_format,
              output_compression,
              response_format: "b64_json",
            };
            const response = await generate(context, operation, requestOptions);
            const [image = new Uint8Array()] = imagesIn(response);
            expect(sniff(image)?.format).toBe(output_format);
            return image.length;
          }),
        );
        expect(small).toBeGreaterThan(0);
        expect(small, `${output_format}: ${small} and ${large} bytes`).toBeLessThan(large);
      }
    },
  },
};
