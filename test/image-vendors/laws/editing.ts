/** Laws: the images of an edit reach the vendor as they were sent, and the mask in the vendor's convention. */
import { expect } from "bun:test";
import { answered, ask, askJson, draw, refused, source, sourceSize } from "../ask.ts";
import type { Place } from "../house.ts";
import { look, type PictureKind, paint, paintMask } from "../paint.ts";
import type { PictureLaws } from "./law.ts";
import { hashOf } from "./truth.ts";

/** More than OpenAI takes is refused for every vendor. */
const mostImages = 16;

const editTraits = (place: Place) => {
  const { edits } = place.traits("edits");
  if (!edits) throw new Error("the adapter does not say how it edits");
  return edits;
};

/** As many as the vendor takes, up to three, of the kinds of file that it reads itself. */
async function sources(place: Place): Promise<Uint8Array[]> {
  const { maxImages, reads = ["image/png", "image/jpeg", "image/webp"] } = editTraits(place);
  const kinds = (["png", "jpeg", "webp"] as const satisfies PictureKind[]).filter((kind) =>
    reads.includes(`image/${kind}`),
  );
  const kindAt = (at: number): PictureKind => kinds[at % kinds.length] ?? "png";
  const count = Math.min(3, maxImages);
  return Promise.all(Array.from({ length: count }, (_, at) => source(at, kindAt(at))));
}

/** What the vendor got, of its one order. */
function arrived({ served }: Place): { images: string[]; mask: Uint8Array | undefined } {
  expect(served.studio.orders).toHaveLength(1);
  const [order] = served.studio.orders;
  return { images: (order?.images ?? []).map(hashOf), mask: order?.mask };
}

const dataUrl = (bytes: Uint8Array, kind: string): string =>
  `data:image/${kind};base64,${Buffer.from(bytes).toString("base64")}`;

export const editing: PictureLaws = {
  "the picture of an edit arrives as it was sent": {
    about: "edits",
    holds: async (place) => {
      const picture = await source(7);
      await draw(place, "edits", { images: [picture] });
      expect(arrived(place)).toEqual({ images: [hashOf(picture)], mask: undefined });
    },
  },

  "several pictures of an edit arrive in their order, as they were sent": {
    about: "edits",
    holds: async (place) => {
      const images = await sources(place);
      await draw(place, "edits", { images, listed: true });
      expect(arrived(place).images).toEqual(images.map(hashOf));
    },
  },

  "pictures in a JSON body arrive as those of a form do": {
    about: "edits",
    holds: async (place) => {
      const picture = await source(8);
      const outcome = await askJson(place, "/v1/images/edits", {
        model: place.model("painter"),
        prompt: "add a hat",
        images: [{ image_url: dataUrl(picture, "png") }],
      });
      answered(outcome);
      expect(arrived(place).images).toEqual([hashOf(picture)]);
    },
  },

  "a picture too large to be held arrives at the vendor to the last byte": {
    about: "edits",
    holds: async (place) => {
      const picture = await paint("heavy", { width: 448, height: 400, kind: "png", noisy: true });
      expect(picture.length).toBeGreaterThan(384 * 1024);
      await draw(place, "edits", { images: [picture] });
      expect(arrived(place).images).toEqual([hashOf(picture)]);
    },
  },

  "more pictures than the vendor takes are refused by name, and nobody is asked": {
    about: "edits",
    holds: async (place) => {
      const count = Math.min(editTraits(place).maxImages, mostImages) + 1;
      const images = await Promise.all(Array.from({ length: count }, (_, at) => source(at)));
      const { status, error } = refused(place, await ask(place, "edits", { images }));
      expect(status).toBe(400);
      expect(error.param).toMatch(/^image/);
      expect(place.served.exchanges).toEqual([]);
    },
  },

  "a mask arrives in the vendor's own way, pixel by pixel; or it is refused by name": {
    about: "edits",
    holds: async (place) => {
      const mask = await paintMask(sourceSize, sourceSize);
      const outcome = await ask(place, "edits", { images: [await source(9)], mask });
      const { mask: wanted } = editTraits(place);
      if (wanted === undefined) {
        const { status, error } = refused(place, outcome);
        expect({ status, param: error.param }).toEqual({ status: 400, param: "mask" });
        expect(place.served.exchanges).toEqual([]);
        return;
      }
      answered(outcome);
      const got = arrived(place).mask;
      expect(got, "no mask arrived").toBeDefined();
      await expectMask(got ?? new Uint8Array(), mask, wanted);
    },
  },
};

/** Whether the pixel that begins here may change, by how the vendor tells. */
const opens = {
  transparent: (pixels: Uint8Array, at: number) => (pixels[at + 3] ?? 255) < 128,
  white: (pixels: Uint8Array, at: number) => (pixels[at] ?? 0) >= 128,
  black: (pixels: Uint8Array, at: number) => (pixels[at] ?? 0) < 128,
} as const;

async function expectMask(
  got: Uint8Array,
  sent: Uint8Array,
  wanted: keyof typeof opens,
): Promise<void> {
  const [seen, meant] = await Promise.all([look(got), look(sent)]);
  expect({ width: seen.width, height: seen.height }).toEqual({
    width: meant.width,
    height: meant.height,
  });
  let wrong = 0;
  let seeThrough = 0;
  for (let at = 0; at < meant.pixels.length; at += 4) {
    if (opens[wanted](seen.pixels, at) !== opens.transparent(meant.pixels, at)) wrong++;
    if (opens.transparent(seen.pixels, at)) seeThrough++;
  }
  expect(wrong, "pixels say the opposite of what was meant").toBe(0);
  if (wanted !== "transparent") expect(seeThrough, "it is transparent as well").toBe(0);
}
