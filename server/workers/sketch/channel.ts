/** An async queue: a producer pushes items in callbacks, and a consumer iterates them until the end or an error. */

export interface Channel<T> {
  push(item: T): void;
  /** With a reason, the iteration throws it after the items that were pushed before. */
  end(reason?: unknown): void;
  readonly items: AsyncIterable<T>;
}

export function channel<T>(): Channel<T> {
  const waiting: T[] = [];
  let ended: { readonly reason: unknown } | undefined;
  let wake = Promise.withResolvers<void>();
  const wakeReader = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  async function* read(): AsyncGenerator<T> {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift() as T;
      if (ended) break;
      await wake.promise;
    }
    if (ended.reason !== undefined) throw ended.reason;
  }
  return {
    push: (item) => {
      waiting.push(item);
      wakeReader();
    },
    end: (reason) => {
      ended ??= { reason };
      wakeReader();
    },
    items: read(),
  };
}
