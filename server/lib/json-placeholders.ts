/**
 * Placeholders for values that are cut out of JSON before it is parsed, such as a long text or a list of numbers: each
 * value is replaced by a short string, and put back into the parsed JSON.
 */

/** Unguessable: a document cannot contain it. Its characters need no escaping. */
const prefix = `${crypto.randomUUID()} `;

export class JsonPlaceholders {
  readonly #values: unknown[] = [];

  /** The JSON string that stands for the value, without its quotes. */
  add(value: unknown): string {
    return `${prefix}${this.#values.push(value) - 1}`;
  }

  /** Puts the values back. */
  restore(json: unknown): unknown {
    return this.#values.length === 0 ? json : this.#restore(json);
  }

  #restore(json: unknown): unknown {
    if (typeof json === "string" && json.startsWith(prefix)) {
      return this.#values[Number(json.slice(prefix.length))];
    }
    if (Array.isArray(json)) return json.map((entry) => this.#restore(entry));
    if (typeof json !== "object" || json === null) return json;
    return Object.fromEntries(
      Object.entries(json).map(([name, entry]) => [name, this.#restore(entry)]),
    );
  }
}
