/** Laws: the images of an edit reach the vendor as they were sent, and the mask in the vendor's convention. */
import { expect } from "bun:test";
import { requestShape } from "../golden.ts";
import type { FakeVendor } from "../image-vendor.ts";
import { capabilitiesOf, type LawContext } from "../law-gateway.ts";
import {
  expectRefusal,
  expectSuccess,
  generate,
  sendRequest,
  source,
  sourceSize,
} from "../send-request.ts";
import { createImage, createMask, decodeImage, type ImageFormat } from "../test-images.ts";
import { hashOf } from "./expect-response.ts";
import type { ImageLaws } from "./law.ts";

/** OpenAI's maximum applies to every vendor. */
const maxImages = 16;

const editCapabilities = (context: LawContext) => {
  const { edits } = context.capabilities("edits");
  if (!edits) throw new Error("the adapter declares no edit capabilities");
  return edits;
};

/** Equal for models of one adapter with the same rules for images and masks, in requests of the same shape. */
function declaredEdits(vendor: FakeVendor): string {
  const { edits } = capabilitiesOf(vendor, "http://127.0.0.1", "edits");
  return JSON.stringify([requestShape(vendor, "edits"), edits]);
}

/** Up to three source images, as many as the vendor takes, in the file formats that it reads. */
async function sources(context: LawContext): Promise<Uint8Array[]> {
  const { maxImages, reads = ["image/png", "image/jpeg", "image/webp"] } =
    editCapabilities(context);
  const kinds = (["png", "jpeg", "webp"] as const satisfies ImageFormat[]).filter((kind) =>
    reads.includes(`image/${kind}`),
  );
  const kindAt = (at: number): ImageFormat => kinds[at % kinds.length] ?? "png";
  const count = Math.min(3, maxImages);
  return Promise.all(Array.from({ length: count }, (_, at) => source(at, kindAt(at))));
}

/** The images and the mask of the one request that the vendor got. */
function arrived({ fake }: LawContext): { images: string[]; mask: Uint8Array | undefined } {
  expect(fake.generator.requests).toHaveLength(1);
  const [parsed] = fake.generator.requests;
  return { images: (parsed?.images ?? []).map(hashOf), mask: parsed?.mask };
}

export const editing: ImageLaws = {
  "the images of an edit reach the vendor in order and unchanged": {
    about: "edits",
    alike: declaredEdits,
    holds: async (context) => {
      const images = await sources(context);
      await generate(context, "edits", { images, listed: true });
      expect(arrived(context).images).toEqual(images.map(hashOf));
    },
  },

  "an image above the memory limit reaches the vendor to the last byte": {
    about: "edits",
    alike: ({ kind }) => kind,
    holds: async (context) => {
      const image = await createImage("heavy", {
        width: 448,
        height: 400,
        kind: "png",
        noisy: true,
      });
      expect(image.length).toBeGreaterThan(384 * 1024);
      await generate(context, "edits", { images: [image] });
      expect(arrived(context).images).toEqual([hashOf(image)]);
    },
  },

  "more images than the vendor takes are refused with the parameter's name, without an upstream request":
    {
      about: "edits",
      // Refused before a request is made, whatever the vendor.
      alike: (vendor) => `${capabilitiesOf(vendor, "http://127.0.0.1", "edits").edits?.maxImages}`,
      holds: async (context) => {
        const count = Math.min(editCapabilities(context).maxImages, maxImages) + 1;
        const images = await Promise.all(Array.from({ length: count }, (_, at) => source(at)));
        const { status, error } = expectRefusal(
          context,
          await sendRequest(context, "edits", { images }),
        );
        expect(status).toBe(400);
        expect(error.param).toMatch(/^image/);
        expect(context.fake.exchanges).toEqual([]);
      },
    },

  "a mask reaches the vendor in its own convention, pixel by pixel, or is refused with the parameter's name":
    {
      about: "edits",
      alike: declaredEdits,
      holds: async (context) => {
        const mask = await createMask(sourceSize, sourceSize);
        const outcome = await sendRequest(context, "edits", { images: [await source(9)], mask });
        const { mask: convention } = editCapabilities(context);
        if (convention === undefined) {
          const { status, error } = expectRefusal(context, outcome);
          expect({ status, param: error.param }).toEqual({ status: 400, param: "mask" });
          expect(context.fake.exchanges).toEqual([]);
          return;
        }
        expectSuccess(outcome);
        const got = arrived(context).mask;
        expect(got, "no mask arrived").toBeDefined();
        await expectMask(got ?? new Uint8Array(), mask, convention);
      },
    },
};

/** Whether the pixel at this offset may change, in each vendor's convention. */
const isEditable = {
  transparent: (pixels: Uint8Array, at: number) => (pixels[at + 3] ?? 255) < 128,
  white: (pixels: Uint8Array, at: number) => (pixels[at] ?? 0) >= 128,
  black: (pixels: Uint8Array, at: number) => (pixels[at] ?? 0) < 128,
} as const;

async function expectMask(
  got: Uint8Array,
  sent: Uint8Array,
  convention: keyof typeof isEditable,
): Promise<void> {
  const [received, expected] = await Promise.all([decodeImage(got), decodeImage(sent)]);
  expect({ width: received.width, height: received.height }).toEqual({
    width: expected.width,
    height: expected.height,
  });
  let wrong = 0;
  let transparent = 0;
  for (let at = 0; at < expected.pixels.length; at += 4) {
    if (isEditable[convention](received.pixels, at) !== isEditable.transparent(expected.pixels, at))
      wrong++;
    if (isEditable.transparent(received.pixels, at)) transparent++;
  }
  expect(wrong, "pixels are inverted").toBe(0);
  if (convention !== "transparent") expect(transparent, "it is transparent as well").toBe(0);
}
