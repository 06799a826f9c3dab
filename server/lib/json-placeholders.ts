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

  /** In place: the JSON was just parsed, and no other code has it. */
  #restore(json: unknown): unknown {
    if (typeof json === "string") {
      return json.startsWith(prefix) ? this.#values[Number(json.slice(prefix.length))] : json;
    }
    if (typeof json !== "object" || json === null) return json;
    const members = json as Record<string, unknown>;
    for (const name in members) {
      const member = members[name];
      if (typeof member !== "string" && typeof member !== "object") continue;
      const restored = this.#restore(member);
      if (restored !== member) members[name] = restored;
    }
    return json;
  }
}
