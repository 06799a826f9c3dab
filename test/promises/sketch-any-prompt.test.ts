/** Laws of the drawing program over random words: it draws or refuses, it never breaks. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../server/std/gateway-error.ts";
import { subjectNames, subjectOf } from "../../server/upstream/local/sketch/subjects/catalogue.ts";
import {
  placeWords,
  styleWords,
  timeWords,
  weatherWords,
} from "../../server/upstream/local/sketch/words/scene-words.ts";
import { subjectWords } from "../../server/upstream/local/sketch/words/subject-words.ts";
import { bytesOf, draw, edit, photo, pixelsOf } from "./sketch-fixture.ts";

const firstWords = (table: Readonly<Record<string, string>>): string[] =>
  Object.values(table).map((words) => (words.split(" ")[0] ?? "").replaceAll("_", " "));
const words = [
  ...firstWords(subjectWords),
  ...firstWords(placeWords),
  ...firstWords(timeWords),
  ...firstWords(weatherWords),
  ...firstWords(styleWords),
  "red",
  "two",
  "a",
  "on",
  "with",
  "big",
  "no",
  "riding",
  "constructor",
  "__proto__",
  "toString",
];
const sentence = fc
  .array(fc.constantFrom(...words), { minLength: 1, maxLength: 9 })
  .map((list) => list.join(" "));
const anything = fc.oneof(
  sentence,
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: "grapheme", maxLength: 60 }),
);

const ours = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect((error as GatewayError).fault).not.toBe("internal");
  }
};

describe("whatever the words", () => {
  test("a picture of the asked size comes back", async () => {
    await fc.assert(
      fc.asyncProperty(
        anything,
        fc.integer({ min: 16, max: 70 }),
        fc.integer({ min: 16, max: 70 }),
        async (prompt, width, height) => {
          const found = await pixelsOf(bytesOf(await draw(prompt, { size: `${width}x${height}` })));
          expect([found.width, found.height]).toEqual([width, height]);
        },
      ),
      { numRuns: 45 },
    );
  });

  test("only refusals escape, whatever the options", async () => {
    // Mostly allowed, so that most calls get as far as drawing.
    const mostly = <T>(good: readonly T[], bad: fc.Arbitrary<T>): fc.Arbitrary<T> =>
      fc.oneof({ weight: 19, arbitrary: fc.constantFrom(...good) }, { weight: 1, arbitrary: bad });
    const still = fc.record(
      {
        size: mostly(["32x48", "64x64", "90x16"], fc.string({ maxLength: 9 })),
        quality: mostly(["low", "high", "max", "auto"], fc.string({ maxLength: 5 })),
        background: mostly(["auto", "transparent", "opaque"], fc.string({ maxLength: 5 })),
        output_format: mostly(["png", "webp", "png", "jpeg", "svg"], fc.string({ maxLength: 5 })),
        output_compression: mostly([100], fc.double()),
        style: mostly(["vivid", "natural"], fc.string({ maxLength: 5 })),
        n: mostly([1, 2], fc.integer({ min: -1, max: 3 })),
      },
      { requiredKeys: [] },
    );
    const moving = fc.record({
      output_format: fc.constant("gif"),
      frame_count: fc.integer({ min: 1, max: 4 }),
      background: fc.constantFrom("auto", "transparent"),
    });
    const option = fc.oneof({ weight: 4, arbitrary: still }, { weight: 1, arbitrary: moving });
    await fc.assert(
      fc.asyncProperty(sentence, option, (prompt, options) =>
        ours(() => draw(prompt, { size: "48x32", ...options })),
      ),
      { numRuns: 25 },
    );
  });

  test("only refusals escape, whatever is uploaded", async () => {
    const image = await photo(40, 30);
    const upload = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      fc.tuple(fc.nat({ max: image.length - 1 }), fc.nat({ max: 255 })).map(([at, value]) => {
        const bent = Uint8Array.from(image);
        bent[at] = value;
        return bent;
      }),
      fc.nat({ max: image.length }).map((length) => image.subarray(0, length)),
    );
    await fc.assert(
      fc.asyncProperty(
        sentence,
        upload,
        fc.option(upload, { nil: undefined }),
        (prompt, bytes, mask) =>
          ours(() => edit(prompt, [bytes], { ...(mask !== undefined && { mask }) })),
      ),
      { numRuns: 45 },
    );
  });
});

describe("the catalogue", () => {
  test("has every subject within its frame, in a drawing of its own", async () => {
    const odd: string[] = [];
    for (const name of subjectNames) {
      const subject = subjectOf(name);
      expect(subject.tall).toBeGreaterThan(50);
      const word = (subjectWords[name].split(" ")[0] ?? "").replaceAll("_", " ");
      const { rgba, width } = await pixelsOf(
        bytesOf(await draw(`a ${word}`, { size: "48x48", background: "transparent" })),
      );
      let [solid, rim] = [0, 0];
      for (let i = 0; i < rgba.length / 4; i++) {
        const alpha = rgba[i * 4 + 3] ?? 0;
        if (alpha > 200) solid += 1;
        const [x, y] = [i % width, Math.floor(i / width)];
        if (alpha > 200 && (x === 0 || y === 0 || x === width - 1 || y === width - 1)) rim += 1;
      }
      if (solid < 60 || rim >= 4) odd.push(`${name}: ${solid} solid, ${rim} on the rim`);
    }
    expect(odd).toEqual([]);
  });
});
