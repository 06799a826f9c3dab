/** The functions of `bun:test`, except that the body of a test is empty. */
import { test as declared } from "bun:test";

export * from "bun:test";

type Declare = (name: string, ...more: unknown[]) => void;
const empty: Declare = (name) => declared(name, () => undefined);
const emptyEach = (): Declare => empty;
const skipped: Declare = (name) => declared.skip(name, () => undefined);

export const test = Object.assign(empty, {
  concurrent: Object.assign(empty, { each: emptyEach }),
  each: () => emptyEach(),
  if: () => empty,
  serial: empty,
  skip: Object.assign(skipped, { each: () => skipped }),
});
