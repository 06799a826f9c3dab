/**
 * Whether a JSON value is large: more values, or more characters, than code may sort, compare or copy while other
 * requests wait. The count stops at the bound, so the check takes microseconds for any value.
 */

const maxValues = 1024;
const maxCharacters = 64 * 1024;

export const isLargeJson = (value: unknown): boolean => new Count().isBeyond(value);

class Count {
  #values = 0;
  #characters = 0;

  /** Adds the value, and stops at the first bound that is passed. */
  isBeyond(value: unknown): boolean {
    this.#values += 1;
    if (typeof value === "string") this.#characters += value.length;
    if (this.#values > maxValues || this.#characters > maxCharacters) return true;
    if (typeof value !== "object" || value === null) return false;
    if (Array.isArray(value)) return value.some((entry) => this.isBeyond(entry));
    for (const name in value) {
      this.#characters += name.length;
      if (this.isBeyond((value as Readonly<Record<string, unknown>>)[name])) return true;
    }
    return false;
  }
}
