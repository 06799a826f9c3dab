/** The type of a function through which a store reports how long its calls take. */

/** Runs one call of a store, and observes how long it takes. */
export type TimeCall = <T>(call: () => Promise<T>) => Promise<T>;

export const untimed: TimeCall = (call) => call();
