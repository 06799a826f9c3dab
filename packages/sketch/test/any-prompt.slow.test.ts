/** Properties over random prompts and options: a request is drawn or refused with a SketchError. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { tries } from "../../../test/depth.ts";
import { SketchError } from "../src/index.ts";
import { placeWords, styleWords, timeWords, weatherWords } from "../src/prompt/scene-words.ts";
import { subjectWords } from "../src/prompt/subject-words.ts";
import { subjectNames, subjectOf } from "../src/subjects/catalog.ts";
import { bytesOf, generate, pixelsOf } from "./fixture.ts";

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

const _drawnOrRefused = async (work: () => Promise<unknown>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(SketchError);
  }
};

describe("any prompt", () => {
  test("gives an image of the requested size", async () => {
    await fc.assert(
      fc.asyncProperty(
        anything,
        fc.integer({ min: 16, max: 70 }),
        fc.integer({ min: 16, max: 70 }),
        async (prompt, width, height) => {
          const found = await pixelsOf(
            bytesOf(await generate(prompt, { size: `${width}x${height}` })),
          );
          expect([found.width, found.height]).toEqual([width, height]);
        },
      ),
      tries(150),
    );
  });
});

describe("the subject catalog", () => {
  test("draws every subject inside of the frame", async () => {
    const misplaced: string[] = [];
    for (const name of subjectNames) {
      const subject = subjectOf(name);
      expect(subject.tall).toBeGreaterThan(50);
      const word = (subjectWords[name].split(" ")[0] ?? "").replaceAll("_", " ");
      const { rgba, width } = await pixelsOf(
        bytesOf(await generate(`a ${word}`, { size: "48x48", background: "transparent" })),
      );
      let [solid, border] = [0, 0];
      for (let i = 0; i < rgba.length / 4; i++) {
        const alpha = rgba[i * 4 + 3] ?? 0;
        if (alpha > 200) solid += 1;
        const [x, y] = [i % width, Math.floor(i / width)];
        if (alpha > 200 && (x === 0 || y === 0 || x === width - 1 || y === width - 1)) border += 1;
      }
      if (solid < 60 || border >= 4)
        misplaced.push(`${name}: ${solid} solid, ${border} on the border`);
    }
    expect(misplaced).toEqual([]);
  });
});
