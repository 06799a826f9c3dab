/** Laws over every implementation of a thing. An exception needs a reason, and must really be one. */
import { describe, expect, test } from "bun:test";

/** Throws where the law does not hold. */
export type Law<T> = (subject: T) => void | Promise<void>;
/** Subject -> law -> why it does not hold there. */
export type Exceptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** How often a law is tried on each subject. LAW_DEPTH=50 looks harder than there is time for on every change. */
export const tries = (often: number): { numRuns: number } => ({
  numRuns: often * Number(process.env.LAW_DEPTH ?? 1),
});

export function obey<T>(
  subjects: ReadonlyMap<string, T>,
  laws: Readonly<Record<string, Law<T>>>,
  exceptions: Exceptions = {},
): void {
  test("every exception names a subject and a law that are there, and a reason", () => {
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
      for (const [words, law] of Object.entries(laws)) {
        const reason = exceptions[name]?.[words];
        if (reason === undefined) test(words, async () => law(subject));
        else test(`is excused: ${words} (${reason})`, async () => expectBroken(law, subject));
      }
    });
  }
}

/** An excuse that is no longer needed has to go. */
async function expectBroken<T>(law: Law<T>, subject: T): Promise<void> {
  const held = await (async () => law(subject))().then(
    () => true,
    () => false,
  );
  expect(held, "the law holds here after all: take the exception out").toBe(false);
}
