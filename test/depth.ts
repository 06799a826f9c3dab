/**
 * How many cases property tests and simulations try: a fraction in `npm run test:fast`, all of them in `npm test`.
 * LAW_DEPTH=50 tries more cases than there is time for on every change.
 */
const depth = Number(process.env.LAW_DEPTH ?? 1);

export const scaled = (count: number): number => Math.max(1, Math.ceil(count * depth));

/** For fast-check. */
export const tries = (count: number): { numRuns: number } => ({ numRuns: scaled(count) });

/** How often a law that is tried on few cases must be tried until all of its cases were. */
export const repetitions = Math.max(1, Math.ceil(1 / depth));

/** A sample of many cases: every n-th one, which differs from one call to the next. */
let offset = 0;
export function sampled<T>(cases: Iterable<T>): T[] {
  offset++;
  return [...cases].filter((_, at) => (at + offset) % repetitions === 0);
}
