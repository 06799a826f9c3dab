/**
 * Laws: property tests over every implementation of an interface. An exception needs a reason, and must be necessary.
 */
import { describe, expect, test } from "bun:test";
import { repetitions } from "../depth.ts";

/** Throws if the law does not hold. */
export type Law<T> = (subject: T) => void | Promise<void>;
/** Subject -> law -> why it does not hold there. */
export type Exceptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

export function obey<T>(
  subjects: ReadonlyMap<string, T>,
  laws: Readonly<Record<string, Law<T>>>,
  exceptions: Exceptions = {},
): void {
  test("every exception names an existing subject, an existing law, and a reason", () => {
    for (const [subject, excused] of Object.entries(exceptions)) {
      expect([...subjects.keys()]).toContain(subject);
      for (const [law, reason] of Object.entries(excused)) {
        expect(Object.keys(laws)).toContain(law);
        expect(reason.length, `${subject}, ${law}: give a reason`).toBeGreaterThan(10);
      }
    }
  });
  for (const [name, subject] of subjects) {
    describe(name, () => {
      for (const [lawName, law] of Object.entries(laws)) {
        const reason = exceptions[name]?.[lawName];
        if (reason === undefined) test(lawName, async () => law(subject));
        else test(`is excused: ${lawName} (${reason})`, async () => expectBroken(law, subject));
      }
    });
  }
}

/** An exception that is no longer needed must be removed. */
async function expectBroken<T>(law: Law<T>, subject: T): Promise<void> {
  let held = true;
  for (let time = 0; held && time < repetitions; time++)
    held = await (async () => law(subject))().then(
      () => true,
      () => false,
    );
  expect(held, "the law holds here after all: take the exception out").toBe(false);
}
