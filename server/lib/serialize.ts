/**
 * Runs asynchronous work one after the other (a mutex): the next begins when the one before has ended, with or without
 * an error.
 */

export type Serialize = <T>(work: () => Promise<T>) => Promise<T>;

export function createSerialize(): Serialize {
  let turn: Promise<void> = Promise.resolve();
  return async (work) => {
    const before = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    await before;
    try {
      return await work();
    } finally {
      resolve();
    }
  };
}
