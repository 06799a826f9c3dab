/** The options of images in words. */
import { expect, test } from "bun:test";
import { valueLabel } from "../../console/src/features/images/option-labels.ts";
import { en } from "../../console/src/i18n/en.ts";
import { translator } from "../../console/src/i18n/messages.ts";

const t = translator(en, "en");

test("a size says its shape and its usual ratio, and any other value stays as it is", () => {
  const cases = {
    "": "Default",
    "1024x1024": "Square · 1024 × 1024",
    "1536x1024": "Landscape 3:2 · 1536 × 1024",
    "1024x1792": "Portrait 9:16 · 1024 × 1792",
    "768x1344": "Portrait 9:16 · 768 × 1344",
    "16:9": "Landscape 16:9",
    "9:16": "Portrait 9:16",
    "1:1": "Square",
    "0x5": "0x5",
    auto: "Automatic",
    webp: "WEBP",
    "2K": "2K",
  };
  const shown = Object.fromEntries(
    Object.keys(cases).map((value) => [value, valueLabel(value, t)]),
  );
  expect(shown).toEqual(cases);
});
