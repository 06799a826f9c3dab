/** Surplus connections whose request waits until another connection is closed. */
import type { Holder } from "./connection-holders.ts";

export class WaitingConnections<C> {
  /** In the order of arrival. */
  readonly #holders = new Map<C, Holder>();

  get size(): number {
    return this.#holders.size;
  }

  add(connection: C, holder: Holder): void {
    this.#holders.set(connection, holder);
  }

  delete(connection: C): void {
    this.#holders.delete(connection);
  }

  /** How many connections of this holder wait. */
  count(holder: Holder): number {
    let count = 0;
    for (const each of this.#holders.values()) if (each === holder) count++;
    return count;
  }

  /** Takes the next one: of the holder with the fewest connections, the one that has waited for longest. */
  take(connectionsOf: (holder: Holder) => number): readonly [C, Holder] | undefined {
    let next: readonly [C, Holder] | undefined;
    for (const each of this.#holders) {
      if (!next || connectionsOf(each[1]) < connectionsOf(next[1])) next = each;
    }
    if (next) this.#holders.delete(next[0]);
    return next;
  }
}
