/** Globs in a key's `models`: `*` is any run, `?` any one character, and no glob is slow. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import { editDistance, nearestMatch } from "../../server/lib/edit-distance.ts";
import { matchesGlob } from "../../server/lib/glob.ts";
import { tries } from "../depth.ts";

/** The definition of a glob as a simple recursion, to compare with. */
function reference(glob: readonly string[], text: readonly string[]): boolean {
  const [g, ...gs] = glob;
  const [t, ...ts] = text;
  if (g === undefined) return t === undefined;
  if (g === "*") return reference(gs, text) || (t !== undefined && reference(glob, ts));
  return t !== undefined && (g === "?" || g === t) && reference(gs, ts);
}

test("a glob matches names as documented", () => {
  expect(matchesGlob("*", "openai/text-embedding-3-small")).toBe(true);
  expect(matchesGlob("text-embedding-*", "text-embedding-3-small")).toBe(true);
  expect(matchesGlob("text-embedding-*", "my-text-embedding-3")).toBe(false);
  expect(matchesGlob("*/bge-m?", "BAAI/bge-m3")).toBe(true);
  expect(matchesGlob("a.c", "abc")).toBe(false);
  const letters = fc.array(fc.constantFrom("a", "b", "/", "😀"), { maxLength: 8 });
  const globs = fc.array(fc.constantFrom("a", "b", "/", "😀", "*", "?"), { maxLength: 8 });
  fc.assert(
    fc.property(globs, letters, (glob, text) => {
      expect(matchesGlob(glob.join(""), text.join(""))).toBe(reference(glob, text));
    }),
    tries(5000),
  );
});

test("a glob with many wildcards does not take exponential time", () => {
  const before = process.cpuUsage();
  for (let i = 0; i < 100; i++) matchesGlob(`${"*a".repeat(99)}*b`, "a".repeat(200));
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(500);
});

test("a suggestion is the nearest known name, or none if all are too different", () => {
  expect(nearestMatch("apikey", ["id", "apiKey", "kind"])).toBe("apiKey");
  expect(nearestMatch("opnai", ["azure", "openai"])).toBe("openai");
  expect(nearestMatch("knid", ["id", "kind"])).toBe("kind");
  expect(nearestMatch("wat", ["upstreams", "models"])).toBeUndefined();
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  );
});
