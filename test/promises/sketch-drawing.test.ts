/** Promises of the drawing program about what comes back: size, format, alpha, determinism, usage. */
import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import { alphaOf, apart, bytesOf, draw, pixelsOf } from "./sketch-fixture.ts";

describe("what is delivered is what was asked for", () => {
  for (const format of ["png", "jpeg", "webp", "gif"] as const) {
    test(`output_format ${format} gives a real ${format}`, async () => {
      const reply = await draw("a fox", { output_format: format, size: "90x60" });
      const found = await sharp(bytesOf(reply)).metadata();
      expect([found.format, found.width, found.pageHeight ?? found.height]).toEqual([
        format,
        90,
        60,
      ]);
      expect(reply.facts).toEqual({
        size: "90x60",
        quality: "medium",
        background: "opaque",
        output_format: format,
      });
    });
  }

  test("output_format svg gives the drawing's own source", async () => {
    const reply = await draw("a red balloon over the sea", {
      output_format: "svg",
      size: "200x100",
    });
    const source = new TextDecoder().decode(bytesOf(reply));
    expect(source).toContain('<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"');
    const { width, height, rgba } = await pixelsOf(bytesOf(reply));
    expect([width, height]).toEqual([200, 100]);
    expect(new Set(rgba).size).toBeGreaterThan(40);
  });

  test("a gif has the frames and the pace that were asked for, and they differ", async () => {
    const bytes = bytesOf(
      await draw("a sailboat on the sea, rain", {
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

  test("auto is square, wide or tall as the words suggest", async () => {
    const sizes = ["a fox", "a wide panorama of hills", "portrait of an owl"].map(
      async (prompt) => (await draw(prompt, { size: "auto", quality: "low" })).facts.size,
    );
    expect(await Promise.all(sizes)).toEqual(["1024x1024", "1536x1024", "1024x1536"]);
  });

  test("any size within the limits is drawn as it is", async () => {
    for (const size of ["16x16", "17x301", "400x33"]) {
      const { width, height } = await pixelsOf(bytesOf(await draw("a castle by a lake", { size })));
      expect(`${width}x${height}`).toBe(size);
    }
  });

  test("the quality reported is a real one, and a higher one draws more", async () => {
    const said = async (quality: string): Promise<string | undefined> =>
      (await draw("a forest", { quality, size: "64x64" })).facts.quality;
    expect([
      await said("auto"),
      await said("standard"),
      await said("hd"),
      await said("low"),
      await said("max"),
    ]).toEqual(["medium", "medium", "high", "low", "max"]);
    const source = async (quality: string): Promise<number> =>
      bytesOf(await draw("a forest under the stars", { quality, output_format: "svg" })).length;
    const [low, medium, high] = [await source("low"), await source("medium"), await source("high")];
    expect(medium).toBeGreaterThan(low * 1.2);
    expect(high).toBeGreaterThan(medium * 1.2);
  });

  test("output_compression is the encoder's quality", async () => {
    const size = async (output_compression: number): Promise<number> =>
      bytesOf(
        await draw("a forest", { output_format: "jpeg", output_compression, size: "256x256" }),
      ).length;
    expect(await size(100)).toBeGreaterThan((await size(30)) * 2);
  });

  test("vivid has more colour than natural", async () => {
    const chroma = async (style: string): Promise<number> => {
      const { rgba } = await pixelsOf(
        bytesOf(await draw("a red balloon over a meadow", { style })),
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
    test(`around ${what}`, async () => {
      const reply = await draw(prompt, { background: "transparent" });
      const alpha = alphaOf(await pixelsOf(bytesOf(reply)));
      expect(alpha.filter((a) => a === 0).length).toBeGreaterThan(alpha.length * 0.1);
      expect(alpha.filter((a) => a === 255).length).toBeGreaterThan(alpha.length * 0.1);
      expect(reply.facts.background).toBe("transparent");
    });
  }

  test("in webp and gif too", async () => {
    for (const output_format of ["webp", "gif"]) {
      const alpha = alphaOf(
        await pixelsOf(
          bytesOf(await draw("a butterfly", { background: "transparent", output_format })),
        ),
      );
      expect([Math.min(...alpha), Math.max(...alpha)]).toEqual([0, 255]);
    }
  });

  test("opaque is opaque in every pixel", async () => {
    const alpha = alphaOf(await pixelsOf(bytesOf(await draw("a cat", { background: "opaque" }))));
    expect(Math.min(...alpha)).toBe(255);
  });
});

describe("chance is not left to chance", () => {
  test("the same prompt and seed give the same bytes", async () => {
    for (const prompt of [
      "a fox in the forest, oil painting",
      "abcdef",
      "a cup of tea, watercolour",
    ]) {
      const [first, again] = [
        await draw(prompt, {}, { seed: 7 }),
        await draw(prompt, {}, { seed: 7 }),
      ];
      expect(Buffer.compare(bytesOf(first), bytesOf(again))).toBe(0);
    }
  });

  test("another seed gives another picture", async () => {
    const [one, two] = [
      await pixelsOf(bytesOf(await draw("a house", {}, { seed: 1 }))),
      await pixelsOf(bytesOf(await draw("a house", {}, { seed: 2 }))),
    ];
    expect(apart(one, two)).toBeGreaterThan(3);
  });

  test("n pictures differ and are deterministic", async () => {
    const [first, again] = [
      await draw("a house by the river", { n: 4 }),
      await draw("a house by the river", { n: 4 }),
    ];
    expect(first.results).toHaveLength(4);
    const pictures = await Promise.all([0, 1, 2, 3].map((i) => pixelsOf(bytesOf(first, i))));
    for (let i = 0; i < 4; i++) {
      expect(Buffer.compare(bytesOf(first, i), bytesOf(again, i))).toBe(0);
      for (let j = 0; j < i; j++) {
        const [a, b] = [pictures[i], pictures[j]];
        if (a !== undefined && b !== undefined) expect(apart(a, b)).toBeGreaterThan(2);
      }
    }
  });
});

describe("the words are heard", () => {
  /** Share of pixels for which the test holds. */
  const share = async (
    prompt: string,
    is: (r: number, g: number, b: number) => boolean,
  ): Promise<number> => {
    const { rgba } = await pixelsOf(bytesOf(await draw(prompt, { background: "transparent" })));
    let [hits, seen] = [0, 0];
    for (let i = 0; i < rgba.length; i += 4) {
      if ((rgba[i + 3] ?? 0) < 200) continue;
      seen += 1;
      if (is(rgba[i] ?? 0, rgba[i + 1] ?? 0, rgba[i + 2] ?? 0)) hits += 1;
    }
    return hits / seen;
  };

  test("a colour belongs to the noun it stands before", async () => {
    expect(await share("a red car at noon", (r, g, b) => r > g + 60 && r > b + 60)).toBeGreaterThan(
      0.3,
    );
    expect(
      await share("a blue car at noon", (r, g, b) => b > r + 40 && b > g + 20),
    ).toBeGreaterThan(0.3);
  });

  test("night is darker than noon", async () => {
    const light = async (prompt: string): Promise<number> => {
      const { rgba } = await pixelsOf(bytesOf(await draw(prompt)));
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
    ["ein Boot auf dem See, Aquarell", "a boat with a lake, watercolour"],
    // Without a German word beside them these are English.
    ["a gift for those who see", "a gift"],
  ])("%s: %s", async (prompt, told) => {
    const [result] = (await draw(prompt, { size: "48x48" })).results;
    expect(result?.revised_prompt).toBe(`vexel-sketch drew: ${told}.`);
  });

  test("the revised prompt tells what was understood, and that it is a drawing program", async () => {
    const said = async (prompt: string): Promise<string | undefined> =>
      (await draw(prompt)).results[0]?.revised_prompt;
    expect(await said("A red balloon over a blue sea at sunset, watercolour!")).toBe(
      "vexel-sketch drew: a red balloon with a blue sea at sunset, watercolour.",
    );
    expect(await said("three black cats riding a whale under a rainbow")).toBe(
      "vexel-sketch drew: three black cats on a whale under a rainbow.",
    );
    expect(await said("a house with no trees")).toBe("vexel-sketch drew: a house.");
    expect(await said("a dog with an orange scarf in a red car")).toBe(
      "vexel-sketch drew: a dog and a red car.",
    );
    expect(await said("kjhsdf")).toBe(
      "vexel-sketch drew: an abstract composition from the words of the prompt.",
    );
  });

  test("nothing of the prompt gets into the markup", async () => {
    const prompt =
      'a cat"/><script>alert(1)</script><image href="http://example.com/x.png"/> &amp; <!ENTITY x "y">';
    const source = new TextDecoder().decode(bytesOf(await draw(prompt, { output_format: "svg" })));
    expect(source).not.toMatch(/script|alert|example|ENTITY|<image|href/i);
    expect(source.replaceAll("http://www.w3.org/2000/svg", "")).not.toContain("http");
  });
});

describe("usage", () => {
  test("adds up, and counts words, tiles, pictures and frames by its rules", async () => {
    const { usage } = await draw("two cats, one moon", { n: 2, size: "64x96", quality: "high" });
    expect(usage).toEqual({
      total_tokens: 53,
      input_tokens: 5,
      output_tokens: 48,
      input_tokens_details: { text_tokens: 5, image_tokens: 0 },
      output_tokens_details: { text_tokens: 0, image_tokens: 48 },
    });
    const gif = await draw("cat", { output_format: "gif", frame_count: 3, size: "33x32" });
    expect(gif.usage?.output_tokens).toBe(6);
  });
});
