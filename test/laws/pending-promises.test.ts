/**
 * Functions that return a promise only where work is pending are listed in decision 54, with what `undefined` means.
 */
import { expect, test } from "bun:test";
import { sources, textOf } from "./tree.ts";

const decision = "docs/decisions/0054-promise-only-where-work-is-pending.md";
/** The type of a result, of a method as well as of a function value. Not of a variable, a field or a parameter. */
const result = /(?:\)|=>)\s*(?::\s*|(?<==>\s*))Promise<(?:[^<>]|<[^<>]*>)*> \| undefined/;

test("every file with such a function has a row in decision 54, and no other file has", () => {
  const listed = textOf(decision)
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...line.matchAll(/`(server\/[^`]+)`/g)].map(([, path]) => path));
  const found = sources().filter((path) => result.test(textOf(path)));
  expect(found.length).toBeGreaterThan(5);
  expect(listed.toSorted()).toEqual(found);
});
