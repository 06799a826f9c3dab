/** What an import creates: upstreams, models and projects with the keys of vexel.yaml, and API keys by their hash. */
import { secretHash } from "../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import type { ImportedFrom, NewKey } from "../../server/storage/sql/stored-key.ts";

export interface ImportPlan {
  /** The kind of the other gateway. */
  readonly source: string;
  /** The hashes of all of its keys, those that are not imported included. */
  readonly sourceHashes: ReadonlySet<string>;
  readonly upstreams: ReadonlyMap<string, JsonObject>;
  readonly models: ReadonlyMap<string, JsonObject>;
  readonly projects: ReadonlyMap<string, JsonObject>;
  readonly keys: readonly PlannedKey[];
}

/** `imported` is absent: no later sync follows the key. */
export interface PlannedKey extends Omit<NewKey, "imported"> {
  readonly imported?: Omit<ImportedFrom, "installation">;
}

/** A secret of the imported gateway: its text, the environment variable that has it, or both. */
export class Secret {
  readonly variable: string | undefined;
  readonly text: string | undefined;

  private constructor(variable: string | undefined, text: string | undefined) {
    this.variable = variable;
    this.text = text;
  }

  /** `text`: the value of the variable, if the imported gateway has it. */
  static ofVariable = (name: string, text?: string): Secret => new Secret(name, text);
  static ofText = (text: string): Secret => new Secret(undefined, text);
}

/** Collects the upstreams of a plan: targets with the same address and credential share one. */
export class Upstreams {
  readonly all = new Map<string, JsonObject>();

  /** Returns the id, which depends on the settings alone: a second import has the same ids. */
  add(upstream: JsonObject & { readonly kind: string }): string {
    const id = `${upstream.kind}-${secretHash(JSON.stringify(upstream)).slice(0, 16)}`;
    this.all.set(id, upstream);
    return id;
  }
}

/** `*` and `?` in the list of a key stand for other characters. */
export const isModelName = (name: string): boolean => /^[^\s\p{C}*?]{1,200}$/u.test(name);
export const nameRule =
  "its name has spaces, *, ? or more than 200 characters, which a model of a key cannot have";

/** The id of an imported key. It depends on the hash alone, so that a second import finds the key. */
export const importedKeyId = (hash: string): string => `key_${hash.slice(0, 16)}`;

/** Replaces each secret in a value. */
export function mapSecrets(value: unknown, replace: (secret: Secret) => unknown): unknown {
  if (value instanceof Secret) return replace(value);
  if (Array.isArray(value)) return value.map((entry) => mapSecrets(entry, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, mapSecrets(member, replace)]),
  );
}

/** A name without characters that names in Vexel cannot have. */
export const printableName = (text: string): string =>
  text.replaceAll(/\p{C}/gu, " ").trim().slice(0, 200) || "unnamed";
