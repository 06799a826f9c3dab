/** Lists and objects that are parsed slice by slice. */

/** Entries that are copied in one step. */
const entriesPerStep = 65_536;

export class SlicedList {
  readonly #maxLength: number;
  /** The entries, slice by slice. Empty once the list is too long. */
  #parts: (readonly unknown[])[] = [];
  #length = 0;

  /** A list longer than `maxLength` is discarded, and `join` returns null. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  add(entries: readonly unknown[]): void {
    this.#length += entries.length;
    if (this.#length > this.#maxLength) this.#parts = [];
    else this.#parts.push(entries);
  }

  /** The whole list, joined in steps. */
  *join(): Generator<void, unknown[] | null> {
    if (this.#length > this.#maxLength) return null;
    const list = new Array<unknown>(this.#length);
    let count = 0;
    let nextStep = entriesPerStep;
    for (const part of this.#parts) {
      // Ten times as fast as `concat`.
      for (let at = 0; at < part.length; at++) list[count++] = part[at];
      if (count < nextStep) continue;
      nextStep = count + entriesPerStep;
      yield;
    }
    return list;
  }
}

export class SlicedObject {
  readonly #fields: [string, unknown][] = [];

  set(name: string, value: unknown): void {
    this.#fields.push([name, value]);
  }

  join(): Readonly<Record<string, unknown>> {
    // Not by assignment: a field may be called `__proto__`.
    return Object.fromEntries(this.#fields);
  }
}
