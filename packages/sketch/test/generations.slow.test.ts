/** Guarantees of generated images: size, format, alpha, determinism, revised prompt, usage. */
import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import { alphaOf, apart, bytesOf, generate, pixelsOf } from "./fixture.ts";

describe("the image is what the options ask for", () => {
  for (const format of ["png", "jpeg", "webp", "gif"] as const) {
    test(`output_format ${format} gives a real ${format}`, async () => {
      const frames = format === "gif" ? { frame_count: 2 } : {};
      const response = await generate("a fox", { output_format: format, size: "90x60", ...frames });
      const found = await sharp(bytesOf(response)).metadata();
      expect([found.format, found.width, found.pageHeight ?? found.height]).toEqual([
        format,
        90,
        60,
      ]);
      expect(response.facts).toEqual({
        size: "90x60",
        quality: "medium",
        background: "opaque",
        output_format: format,
      });
    });
  }

  test("output_format svg gives the SVG source of the scene", async () => {
    const response = await generate("a red balloon over the sea", {
      output_format: "svg",
      size: "200x100",
    });
    const source = new TextDecoder().decode(bytesOf(response));
    expect(source).toContain('<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"');
    const { width, height, rgba } = await pixelsOf(bytesOf(response));
    expect([width, height]).toEqual([200, 100]);
    expect(new Set(rgba).size).toBeGreaterThan(40);
  });

  test("a gif has the requested frames and frame duration, and its frames differ", async () => {
    const bytes = bytesOf(
      await generate("a sailboat on the sea, rain", {
        output_format: "gif",
        frame_count: 5,
        frame_duration_ms: 124,
      }),
    );
    const found = await sharp(bytes, { pages: -1 }).metadata();
    expect([found.pages, found.delay]).toEqual([5, [120, 120, 120, 120, 120]]);
    const [first, third] = [await pixelsOf(bytes, 0), await pixelsOf(bytes, 2)];
    expect(apart(first, third)).toBeGreaterThan(0.5);
  });

  test("size auto is square, wide or tall as the prompt suggests", async () => {
    const sizes = ["a fox", "a wide panorama of hills", "portrait of an owl"].map(
      async (prompt) => (await generate(prompt, { size: "auto", output_format: "svg" })).facts.size,
    );
    expect(await Promise.all(sizes)).toEqual(["1024x1024", "1536x1024", "1024x1536"]);
  });

  test("any size within the limits is drawn exactly", async () => {
    for (const size of ["16x16", "17x301", "400x33"]) {
      const { width, height } = await pixelsOf(
        bytesOf(await generate("a castle by a lake", { size })),
      );
      expect(`${width}x${height}`).toBe(size);
    }
  });

  test("an opaque image is reported as opaque and has no alpha channel at any aspect ratio", async () => {
    for (const [size, prompt] of [
      ["128x96", "a boat"],
      ["120x160", "a forest, paper cut"],
      ["240x135", "qwfp"],
      ["301x97", "a boat"],
    ] as const) {
      const response = await generate(prompt, { size, quality: "low" });
      expect(`${size} ${prompt}: ${response.facts.background}`).toBe(`${size} ${prompt}: opaque`);
      expect((await sharp(bytesOf(response)).metadata()).hasAlpha).toBeFalse();
    }
  });

  test("the reported quality is never auto, and a higher quality draws more shapes", async () => {
    const reported = async (quality: string): Promise<string | undefined> =>
      (await generate("a forest", { quality, size: "64x64" })).facts.quality;
    expect([
      await reported("auto"),
      await reported("standard"),
      await reported("hd"),
      await reported("low"),
      await reported("max"),
    ]).toEqual(["medium", "medium", "high", "low", "max"]);
    const source = async (quality: string): Promise<number> =>
      bytesOf(await generate("a forest under the stars", { quality, output_format: "svg" })).length;
    const [low, medium, high] = [await source("low"), await source("medium"), await source("high")];
    expect(medium).toBeGreaterThan(low * 1.2);
    expect(high).toBeGreaterThan(medium * 1.2);
  });

  test("output_compression sets the quality of the encoder", async () => {
    const size = async (output_compression: number): Promise<number> =>
      bytesOf(
        await generate("a forest", { output_format: "jpeg", output_compression, size: "256x256" }),
      ).length;
    expect(await size(100)).toBeGreaterThan((await size(30)) * 2);
  });

  test("vivid is more saturated than natural", async () => {
    const chroma = async (style: string): Promise<number> => {
      const { rgba } = await pixelsOf(
        bytesOf(await generate("a red balloon over a meadow", { style })),
      );
      let sum = 0;
      for (let i = 0; i < rgba.length; i += 4)
        sum +=
          Math.max(rgba[i] ?? 0, rgba[i + 1] ?? 0, rgba[i + 2] ?? 0) -
          Math.min(rgba[i] ?? 0, rgba[i + 1] ?? 0, rgba[i + 2] ?? 0);
      return sum / (rgba.length / 4);
    };
    expect(await chroma("vivid")).toBeGreaterThan((await chroma("natural")) * 1.15);
  });
});

describe("a transparent background has real alpha", () => {
  for (const [prompt, what] of [
    ["two cats", "subjects"],
    ["mountains at dawn", "scenery"],
    ["zzyzx qwfp", "a composition"],
    ["an owl, watercolour", "a styled subject"],
  ] as const) {
    test(`around the subject: ${what}`, async () => {
      const response = await generate(prompt, { background: "transparent" });
      const alpha = alphaOf(await pixelsOf(bytesOf(response)));
      expect(alpha.filter((a) => a === 0).length).toBeGreaterThan(alpha.length * 0.1);
      expect(alpha.filter((a) => a === 255).length).toBeGreaterThan(alpha.length * 0.1);
      expect(response.facts.background).toBe("transparent");
    });
  }

  test("webp and gif have an alpha channel too", async () => {
    for (const output_format of ["webp", "gif"]) {
      const alpha = alphaOf(
        await pixelsOf(
          bytesOf(await generate("a butterfly", { background: "transparent", output_format })),
        ),
      );
      expect([Math.min(...alpha), Math.max(...alpha)]).toEqual([0, 255]);
    }
  });

  test("background opaque is opaque in every pixel", async () => {
    const alpha = alphaOf(
      await pixelsOf(bytesOf(await generate("a cat", { background: "opaque" }))),
    );
    expect(Math.min(...alpha)).toBe(255);
  });
});

describe("images are deterministic", () => {
  test("the same prompt and seed give the same bytes", async () => {
    for (const prompt of [
      "a fox in the forest, oil painting",
      "abcdef",
      "a cup of tea, watercolour",
    ]) {
      const [first, again] = [
        await generate(prompt, { seed: 7 }),
        await generate(prompt, { seed: 7 }),
      ];
      expect(Buffer.compare(bytesOf(first), bytesOf(again))).toBe(0);
    }
  });
});

describe("the prompt decides", () => {
  /** The share of opaque pixels for which the predicate holds. */
  const share = async (
    prompt: string,
    is: (r: number, g: number, b: number) => boolean,
  ): Promise<number> => {
    const { rgba } = await pixelsOf(bytesOf(await generate(prompt, { background: "transparent" })));
    let [hits, total] = [0, 0];
    for (let i = 0; i < rgba.length; i += 4) {
      if ((rgba[i + 3] ?? 0) < 200) continue;
      total += 1;
      if (is(rgba[i] ?? 0, rgba[i + 1] ?? 0, rgba[i + 2] ?? 0)) hits += 1;
    }
    return hits / total;
  };

  test("a color adjective applies to the noun after it", async () => {
    expect(await share("a red car at noon", (r, g, b) => r > g + 60 && r > b + 60)).toBeGreaterThan(
      0.3,
    );
    expect(
      await share("a blue car at noon", (r, g, b) => b > r + 40 && b > g + 20),
    ).toBeGreaterThan(0.3);
  });

  test("night is darker than noon", async () => {
    const light = async (prompt: string): Promise<number> => {
      const { rgba } = await pixelsOf(bytesOf(await generate(prompt)));
      let sum = 0;
      for (let i = 0; i < rgba.length; i += 4)
        sum += (rgba[i] ?? 0) + (rgba[i + 1] ?? 0) + (rgba[i + 2] ?? 0);
      return sum / (rgba.length / 4) / 3;
    };
    expect(await light("hills at noon")).toBeGreaterThan((await light("hills at night")) * 1.6);
  });

  test.each([
    ["a bowl of oranges on a table", "a bowl of fruit with a room"],
    ["three lemons", "three lemons"],
    ["a cat in blue and orange", "a cat in tones of blue and orange"],
    ["a violin", "a violin"],
    ["the Eiffel tower at sunset", "an Eiffel tower at sunset"],
    ["ein roter Fuchs im verschneiten Wald bei Nacht", "a red fox with a forest at night in snow"],
    ["zwei Katzen am Strand", "two cats with a beach"],
    ["ein Boot auf dem See, Aquarell", "a boat with a lake, watercolor"],
    // Without another German word, "gift" and "see" are read as English.
    ["a gift for those who see", "a gift"],
  ])("%s: %s", async (prompt, understood) => {
    const [result] = (await generate(prompt, { size: "48x48" })).images;
    expect(result?.revised_prompt).toBe(`vexel-sketch drew: ${understood}.`);
  });

  test("the revised prompt says what the program understood, and that a program drew it", async () => {
    const revisedPrompt = async (prompt: string): Promise<string | undefined> =>
      (await generate(prompt)).images[0]?.revised_prompt;
    expect(await revisedPrompt("A red balloon over a blue sea at sunset, watercolour!")).toBe(
      "vexel-sketch drew: a red balloon with a blue sea at sunset, watercolor.",
    );
    expect(await revisedPrompt("three black cats riding a whale under a rainbow")).toBe(
      "vexel-sketch drew: three black cats on a whale under a rainbow.",
    );
    expect(await revisedPrompt("a house with no trees")).toBe("vexel-sketch drew: a house.");
    expect(await revisedPrompt("a dog with an orange scarf in a red car")).toBe(
      "vexel-sketch drew: a dog and a red car.",
    );
    expect(await revisedPrompt("kjhsdf")).toBe(
      "vexel-sketch drew: an abstract composition from the words of the prompt.",
    );
  });

  test("no text of the prompt gets into the SVG source", async () => {
    const prompt =
      'a cat"/><script>alert(1)</script><image href="http://example.com/x.png"/> &amp; <!ENTITY x "y">';
    const source = new TextDecoder().decode(
      bytesOf(await generate(prompt, { output_format: "svg" })),
    );
    expect(source).not.toMatch(/script|alert|example|ENTITY|<image|href/i);
    expect(source.replaceAll("http://www.w3.org/2000/svg", "")).not.toContain("http");
  });
});

describe("usage", () => {
  test("counts words, tiles, images and frames by fixed rules", async () => {
    const { images } = await generate("two cats, one moon", {
      n: 2,
      size: "64x96",
      quality: "high",
    });
    expect(images.map(({ usage }) => usage)).toEqual([
      {
        total_tokens: 29,
        input_tokens: 5,
        output_tokens: 24,
        input_tokens_details: { text_tokens: 5, image_tokens: 0 },
        output_tokens_details: { text_tokens: 0, image_tokens: 24 },
      },
      {
        total_tokens: 24,
        input_tokens: 0,
        output_tokens: 24,
        input_tokens_details: { text_tokens: 0, image_tokens: 0 },
        output_tokens_details: { text_tokens: 0, image_tokens: 24 },
      },
    ]);
    const gif = await generate("cat", { output_format: "gif", frame_count: 3, size: "33x32" });
    expect(gif.images[0]?.usage.output_tokens).toBe(6);
  });
});
