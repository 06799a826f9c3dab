/**
 * How many cases property tests, laws and simulations try. `npm test` tries a twentieth of their random cases and
 * all of their listed cases; `npm run test:fast` tries a few of both. LAW_DEPTH=1 tries all of them, as the nightly run of
 * .github/workflows does, and LAW_DEPTH=50 more random cases than there is time for on every change.
 */
const given = process.env.LAW_DEPTH || undefined;
const randomDepth = Number(given ?? 1 / 20);
const listedDepth = Number(given ?? 1);

export const scaled = (count: number): number => Math.max(1, Math.ceil(count * randomDepth));

/** For fast-check. */
export const tries = (count: number): { numRuns: number } => ({ numRuns: scaled(count) });

/** How many runs a law on few cases needs until all of its cases were tried. */
export const repetitions = Math.max(1, Math.ceil(1 / listedDepth));

/** A sample of many listed cases: every n-th one, which differs from one call to the next. */
let offset = 0;
export function sampled<T>(cases: Iterable<T>): T[] {
  offset++;
  return [...cases].filter((_, at) => (at + offset) % repetitions === 0);
}
