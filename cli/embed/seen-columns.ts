/** The columns of the rows that were read, and whether the options name some of them. */
import { UsageError } from "../command.ts";
import { excerpt } from "./excerpt.ts";
import { type SinceKind, sinceKind } from "./is-since.ts";
import type { SourceRow } from "./row.ts";

interface ColumnOptions {
  readonly idColumn: string | undefined;
  readonly textColumn: string;
  readonly since: string | undefined;
  readonly sinceColumn: string;
}

/** More names of a JSON Lines file are not listed. */
const maxNames = 1000;
const maxListed = 30;

export class SeenColumns {
  readonly #options: ColumnOptions;
  readonly #names = new Set<string>();
  /** The columns of the options that a row has. */
  readonly #found = new Set<string>();
  readonly #needed: readonly string[];
  /** The kinds of the values of the --since column, with the first value of each. */
  readonly #sinceKinds = new Map<SinceKind, unknown>();

  constructor(options: ColumnOptions) {
    this.#options = options;
    const { idColumn, textColumn, since, sinceColumn } = options;
    const needed = [textColumn, idColumn, since === undefined ? undefined : sinceColumn];
    this.#needed = needed.filter((name) => name !== undefined);
  }

  /** In the order in which they appeared. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** A row that could not be read has no reliable columns. */
  add({ columns, problem }: SourceRow): void {
    if (problem !== undefined) return;
    for (const name of Object.keys(columns)) {
      if (this.#names.size === maxNames) break;
      this.#names.add(name);
    }
    if (this.#found.size < this.#needed.length) {
      for (const name of this.#needed) if (Object.hasOwn(columns, name)) this.#found.add(name);
    }
    const { since, sinceColumn } = this.#options;
    if (since === undefined) return;
    const kind = sinceKind(columns[sinceColumn]);
    if (kind && !this.#sinceKinds.has(kind)) this.#sinceKinds.set(kind, columns[sinceColumn]);
  }

  /** After the last row. Throws UsageError if no row has a column that an option names. */
  check(): void {
    if (this.#names.size === 0) return;
    const { idColumn, textColumn, since, sinceColumn } = this.#options;
    this.#checkName("--text-column", textColumn);
    this.#checkName("--id-column", idColumn);
    if (since === undefined) return;
    this.#checkName("--since-column", sinceColumn);
    this.#checkSince(since, sinceColumn);
  }

  #checkName(option: string, name: string | undefined): void {
    if (name === undefined || this.#found.has(name)) return;
    throw new UsageError(`${option}: the input has no column "${name}". ${this.#listNames()}`);
  }

  /** A number is no bound of times: a comparison as texts would leave out rows in silence. */
  #checkSince(since: string, column: string): void {
    const kinds = this.#sinceKinds;
    if (kinds.size === 0 || kinds.has("text") || kinds.has(sinceKind(since) ?? "text")) return;
    const [[kind, example] = ["text", undefined]] = kinds;
    const shown = example instanceof Date ? example.toISOString() : String(example);
    throw new UsageError(
      `--since: "${since}" is no ${kind}, and the column "${column}" has ${kind}s such as ${excerpt(shown, 40)}. ${this.#listNames()}`,
    );
  }

  #listNames(): string {
    const listed = this.names.slice(0, maxListed).map((name) => `"${excerpt(name, 100)}"`);
    const more = this.#names.size - listed.length;
    const rest = more > 0 ? ` and ${more} more` : "";
    return `Its columns are ${listed.join(", ")}${rest}`;
  }
}
