/**
 * A prompt and a seed give the same scene in every release. The goldens are hashes of SVG files, which depend on the
 * drawing program alone and not on the version of the image library.
 */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { placeWords, timeWords, weatherWords } from "../src/prompt/scene-words.ts";
import { subjectWords } from "../src/prompt/subject-words.ts";
import { bytesOf, generate } from "./fixture.ts";

const golden = new URL("./scenes.golden.json", import.meta.url);

const firstWords = (table: Readonly<Record<string, string>>): string[] =>
  Object.values(table).map((words) => (words.split(" ")[0] ?? "").replaceAll("_", " "));

/** Every subject, place, time of day and weather of the lexicon at least once. */
function prompts(): string[] {
  const [places, times, weather] = [placeWords, timeWords, weatherWords].map(firstWords);
  const nth = (list: readonly string[] | undefined, i: number): string =>
    list?.[i % list.length] ?? "";
  const scenes = firstWords(subjectWords).map(
    (subject, i) =>
      `two ${subject} with ${nth(places, i)} at ${nth(times, i)} in ${nth(weather, i)}`,
  );
  const abstract = Array.from({ length: 12 }, (_, i) => `qwfp ${i}`);
  return [...scenes, ...abstract];
}

test("a prompt and a seed give the same scene as in the last release", async () => {
  const hashes: Record<string, string> = {};
  for (const [seed, prompt] of prompts().entries()) {
    const options = { output_format: "svg", size: "300x200", quality: "high", seed };
    const svg = bytesOf(await generate(prompt, options));
    hashes[prompt] = createHash("sha256").update(svg).digest("hex").slice(0, 16);
  }
  if (process.env.UPDATE_GOLDENS) await Bun.write(golden, `${JSON.stringify(hashes, null, 2)}\n`);
  expect(hashes).toEqual(await Bun.file(golden).json());
});
