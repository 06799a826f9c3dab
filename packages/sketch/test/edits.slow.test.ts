/** Guarantees of edits: what a mask protects, and what the prompt changes. */
import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import {
  alphaOf,
  apart,
  bytesOf,
  drawRequest,
  edit,
  editRequest,
  maskWith,
  type Pixels,
  photo,
  pixelsOf,
} from "./fixture.ts";

const size = { width: 120, height: 90 };
const hole = { left: 40, top: 20, width: 60, height: 50 };
const inHole = (x: number, y: number): boolean =>
  x >= hole.left && x < hole.left + hole.width && y >= hole.top && y < hole.top + hole.height;

/** How many pixels differ, inside and outside of the hole. */
function changed(a: Pixels, b: Pixels): { inside: number; outside: number } {
  const count = { inside: 0, outside: 0 };
  for (let i = 0; i < a.width * a.height; i++) {
    const same = [0, 1, 2, 3].every((c) => a.rgba[i * 4 + c] === b.rgba[i * 4 + c]);
    if (!same) count[inHole(i % a.width, Math.floor(i / a.width)) ? "inside" : "outside"] += 1;
  }
  return count;
}

describe("only the masked area changes", () => {
  for (const [prompt, alpha] of [
    ["a dog", false],
    ["a lake at sunset", true],
    ["remove it", false],
    ["remove it", true],
    ["add a cat", false],
    ["qwzx", true],
    ["a robot, oil painting", false],
  ] as const) {
    test(`${prompt}, ${alpha ? "with" : "without"} alpha in the image`, async () => {
      const image = await photo(size.width, size.height, alpha);
      const response = await edit(prompt, [image], { mask: await maskWith(size, hole) });
      expect(response.facts.size).toBe("120x90");
      const count = changed(await pixelsOf(image), await pixelsOf(bytesOf(response)));
      expect(count.outside).toBe(0);
      expect(count.inside).toBeGreaterThan(hole.width * hole.height * 0.3);
    });
  }

  test("pixels outside the mask stay the same in images of every format and channel count", async () => {
    const plain = sharp(await photo(size.width, size.height));
    const kinds = {
      "with an sRGB profile": plain.clone().withIccProfile("srgb").png(),
      "with a wide profile": plain.clone().withIccProfile("p3").png(),
      "with a palette": plain.clone().png({ palette: true, colors: 32 }),
      "of 16 bits": plain.clone().toColorspace("rgb16").png(),
      gray: plain.clone().grayscale().png(),
      jpeg: plain.clone().jpeg(),
    };
    const mask = await maskWith(size, hole);
    for (const [kind, image] of Object.entries(kinds)) {
      const bytes = await image.toBuffer();
      const result = bytesOf(await edit("a dog", [bytes], { mask }));
      const { outside } = changed(await pixelsOf(bytes), await pixelsOf(result));
      expect(`${kind}: ${outside}`).toBe(`${kind}: 0`);
    }
  });

  test("the old and the new image are blended if the mask is half transparent", async () => {
    const image = await photo(size.width, size.height);
    const [hard, soft] = [
      await edit("night", [image], { mask: await maskWith(size, hole) }),
      await edit("night", [image], { mask: await maskWith(size, hole, 12) }),
    ];
    const [before, full, half] = [
      await pixelsOf(image),
      await pixelsOf(bytesOf(hard)),
      await pixelsOf(bytesOf(soft)),
    ];
    expect(changed(before, half).outside).toBe(0);
    const at = ((hole.top + 6) * size.width + hole.left + 30) * 4;
    for (let c = 0; c < 3; c++) {
      const [from, to, between] = [
        before.rgba[at + c] ?? 0,
        full.rgba[at + c] ?? 0,
        half.rgba[at + c] ?? 0,
      ];
      expect(between).toBeGreaterThanOrEqual(Math.min(from, to) - 2);
      expect(between).toBeLessThanOrEqual(Math.max(from, to) + 2);
    }
  });

  test("a second image fills the masked area", async () => {
    const green = await sharp({ create: { ...size, channels: 3, background: "#10c040" } })
      .png()
      .toBuffer();
    const { rgba } = await pixelsOf(
      bytesOf(await edit("use this", [await photo(), green], { mask: await maskWith(size, hole) })),
    );
    const middle = (45 * size.width + 70) * 4;
    expect([rgba[middle], rgba[middle + 1], rgba[middle + 2]]).toEqual([0x10, 0xc0, 0x40]);
  });

  test("removed content is replaced by the texture around it, not by a smooth patch", async () => {
    const raw = Buffer.alloc(size.width * size.height * 3);
    // Like grass: fine, irregular, and with the same mean everywhere.
    for (let i = 0; i < size.width * size.height; i++)
      raw.fill(90 + (((i * 2_654_435_761) >>> 8) % 80), i * 3, i * 3 + 3);
    const image = await sharp(raw, { raw: { ...size, channels: 3 } })
      .png()
      .toBuffer();
    const mask = await maskWith(size, hole);
    const { rgba } = await pixelsOf(bytesOf(await edit("remove it", [image], { mask })));
    const rough = { inside: 0, outside: 0 };
    for (let i = 0; i < size.width * size.height - 1; i++) {
      const region = inHole(i % size.width, Math.floor(i / size.width)) ? "inside" : "outside";
      rough[region] += Math.abs((rgba[i * 4] ?? 0) - (rgba[i * 4 + 4] ?? 0));
    }
    const area = hole.width * hole.height;
    const outside = rough.outside / (size.width * size.height - area);
    expect(rough.inside / area).toBeGreaterThan(outside * 0.6);
  });

  test("a mask of one pixel changes that pixel only", async () => {
    const image = await photo();
    const response = await edit("night", [image], {
      mask: await maskWith(size, { left: 50, top: 50, width: 1, height: 1 }),
    });
    expect(changed(await pixelsOf(image), await pixelsOf(bytesOf(response))).outside).toBe(0);
  });

  test("a transparent background makes the masked area transparent around the subject", async () => {
    const response = await edit("a cat", [await photo()], {
      mask: await maskWith(size, hole),
      options: { background: "transparent" },
    });
    const alpha = alphaOf(await pixelsOf(bytesOf(response)));
    expect(Math.min(...alpha)).toBe(0);
    expect(alpha[0]).toBe(255);
    expect(response.facts.background).toBe("transparent");
  });
});

describe("without a mask the whole image is restyled", () => {
  const light = ({ rgba }: Pixels): number => {
    let sum = 0;
    for (let i = 0; i < rgba.length; i += 4)
      sum += (rgba[i] ?? 0) + (rgba[i + 1] ?? 0) + (rgba[i + 2] ?? 0);
    return sum / (rgba.length * 0.75);
  };

  test("a prompt of night darkens it", async () => {
    const image = await photo();
    expect(light(await pixelsOf(bytesOf(await edit("make it night", [image]))))).toBeLessThan(
      light(await pixelsOf(image)) * 0.8,
    );
  });

  test("black and white leaves no color", async () => {
    const { rgba } = await pixelsOf(bytesOf(await edit("black and white", [await photo()])));
    let most = 0;
    for (let i = 0; i < rgba.length; i += 4)
      most = Math.max(most, Math.abs((rgba[i] ?? 0) - (rgba[i + 2] ?? 0)));
    expect(most).toBeLessThan(8);
  });

  test("every style changes it", async () => {
    const image = await photo(96, 96);
    for (const style of [
      "watercolour",
      "pencil sketch",
      "ink drawing",
      "pixel art",
      "flat design",
      "oil painting",
      "neon",
      "paper cut",
      "mosaic",
      "comic",
      "woodblock",
      "sepia",
      "pastel",
      "pointillism",
    ]) {
      expect(
        apart(await pixelsOf(image), await pixelsOf(bytesOf(await edit(style, [image])))),
      ).toBeGreaterThan(1);
    }
  });

  test("input_fidelity low changes more than high", async () => {
    const image = await photo();
    const moved = async (input_fidelity: string): Promise<number> =>
      apart(
        await pixelsOf(image),
        await pixelsOf(
          bytesOf(await edit("in pink tones", [image], { options: { input_fidelity } })),
        ),
      );
    expect(await moved("low")).toBeGreaterThan((await moved("high")) * 1.15);
  });

  test("an image with transparent parts is put in front of the scene of the prompt", async () => {
    const image = await photo(120, 90, true);
    const alpha = alphaOf(await pixelsOf(bytesOf(await edit("on a beach", [image]))));
    expect(Math.min(...alpha)).toBe(255);
  });

  test("a transparent background removes a plain background", async () => {
    const plain = await sharp({
      create: { width: 80, height: 80, channels: 3, background: "#eef4f8" },
    })
      .composite([
        {
          input: Buffer.from(
            '<svg width="80" height="80"><circle cx="40" cy="40" r="20" fill="#c03020"/></svg>',
          ),
        },
      ])
      .png()
      .toBuffer();
    const alpha = alphaOf(
      await pixelsOf(
        bytesOf(await edit("sticker", [plain], { options: { background: "transparent" } })),
      ),
    );
    expect([alpha[0], alpha[40 * 80 + 40]]).toEqual([0, 255]);
  });

  test("markup is drawn over the image before the edit", async () => {
    const image = await photo();
    const markup = await sharp(
      Buffer.from(
        '<svg width="120" height="90"><rect x="0" y="0" width="40" height="90" fill="#00ff00"/></svg>',
      ),
    )
      .png()
      .toBuffer();
    const [with_, without] = [
      await edit("a touch", [image], { markup }),
      await edit("a touch", [image]),
    ];
    const [a, b] = [await pixelsOf(bytesOf(with_)), await pixelsOf(bytesOf(without))];
    expect((a.rgba[45 * 120 * 4 + 41] ?? 0) - (b.rgba[45 * 120 * 4 + 41] ?? 0)).toBeGreaterThan(40);
    expect(a.rgba[(45 * 120 + 100) * 4]).toBe(b.rgba[(45 * 120 + 100) * 4]);
  });

  test("several images become a collage", async () => {
    const colors = ["#ff0000", "#00ff00", "#0000ff"];
    const plain = await Promise.all(
      colors.map((background) =>
        sharp({ create: { width: 60, height: 60, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const { rgba } = await pixelsOf(
      bytesOf(
        await edit("sketchbook page", plain, {
          options: { size: "200x200", input_fidelity: "high" },
        }),
      ),
    );
    const strong = [0, 0, 0];
    for (let i = 0; i < rgba.length; i += 4) {
      for (let c = 0; c < 3; c++)
        if (
          (rgba[i + c] ?? 0) > (rgba[i + ((c + 1) % 3)] ?? 0) + 70 &&
          (rgba[i + c] ?? 0) > (rgba[i + ((c + 2) % 3)] ?? 0) + 70
        )
          strong[c] = (strong[c] ?? 0) + 1;
    }
    for (const pixels of strong) expect(pixels).toBeGreaterThan(2500);
  });
});

describe("sizes and inputs of an edit", () => {
  test("size auto is the size of the first image; for another size the image is cropped to fill it", async () => {
    const image = await photo(130, 70);
    expect((await edit("pencil", [image])).facts.size).toBe("130x70");
    const { width, height } = await pixelsOf(
      bytesOf(await edit("pencil", [image], { options: { size: "64x100" } })),
    );
    expect([width, height]).toEqual([64, 100]);
  });

  test("a tiny image is enlarged to the smallest size", async () => {
    expect((await edit("night", [await photo(8, 4)])).facts.size).toBe("32x16");
  });

  test("data: URLs, jpeg, webp and gif are read, and the EXIF orientation is applied", async () => {
    const raw = sharp(await photo(90, 60));
    for (const bytes of [
      await raw.clone().jpeg().toBuffer(),
      await raw.clone().webp().toBuffer(),
      await raw.clone().gif().toBuffer(),
    ]) {
      const url = `data:image/whatever;base64,${bytes.toString("base64")}`;
      const response = await drawRequest(editRequest("sepia", [{ kind: "url", url }]));
      expect(response.facts.size).toBe("90x60");
    }
    const turned = await raw.clone().jpeg().withMetadata({ orientation: 6 }).toBuffer();
    expect((await edit("sepia", [turned])).facts.size).toBe("60x90");
  });

  test("n edits differ, gif edits are animated, and usage counts the uploads", async () => {
    const image = await photo(64, 64);
    const two = await edit("two birds in the rain", [image], { options: { n: 2 } });
    expect(apart(await pixelsOf(bytesOf(two, 0)), await pixelsOf(bytesOf(two, 1)))).toBeGreaterThan(
      0.5,
    );
    const tokens = two.images.map(({ usage }) => [usage.input_tokens_details, usage.output_tokens]);
    expect(tokens).toEqual([
      [{ text_tokens: 5, image_tokens: 4 }, 4],
      [{ text_tokens: 0, image_tokens: 0 }, 4],
    ]);
    const gif = bytesOf(
      await edit("pencil sketch", [image], { options: { output_format: "gif", frame_count: 4 } }),
    );
    expect(apart(await pixelsOf(gif, 0), await pixelsOf(gif, 1))).toBeGreaterThan(0.2);
  });

  test("the bytes of the upload are not modified", async () => {
    const image = await photo();
    const copy = Uint8Array.from(image);
    await edit("night", [image]);
    expect(Buffer.compare(image, copy)).toBe(0);
  });
});
