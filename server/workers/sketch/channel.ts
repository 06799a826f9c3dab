/** An async queue: a producer pushes items in callbacks, and a consumer iterates them until the end or an error. */

export interface Channel<T> {
  push(item: T): void;
  /** With a reason, the iteration throws it after the items that were pushed before. */
  end(reason?: unknown): void;
  readonly items: AsyncIterable<T>;
}

export function channel<T>(): Channel<T> {
  const waiting: T[] = [];
  let over: { readonly reason: unknown } | undefined;
  let wake = Promise.withResolvers<void>();
  const stir = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  async function* read(): AsyncGenerator<T> {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift() as T;
      if (over) break;
      await wake.promise;
    }
    if (over.reason !== undefined) throw over.reason;
  }
  return {
    push: (item) => {
      waiting.push(item);
      stir();
    },
    end: (reason) => {
      over ??= { reason };
      stir();
    },
    items: read(),
  };
}
