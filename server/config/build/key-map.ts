/** All API keys by hash, in two layers: a key of the file overrides a stored key. The layers change independently. */
import type { Key } from "../snapshot.ts";
import type { StoredKeys } from "./stored-keys.ts";

export class KeyMap implements ReadonlyMap<string, Key> {
  /** The keys of the file. */
  readonly configured: ReadonlyMap<string, Key>;
  readonly stored: StoredKeys;
  readonly size: number;

  constructor(configured: ReadonlyMap<string, Key>, stored: StoredKeys) {
    this.configured = configured;
    this.stored = stored;
    const overridden = [...configured.keys()].filter((hash) => stored.byHash.has(hash)).length;
    this.size = configured.size + stored.byHash.size - overridden;
  }

  get(hash: string): Key | undefined {
    return this.configured.get(hash) ?? this.stored.byHash.get(hash);
  }

  has(hash: string): boolean {
    return this.configured.has(hash) || this.stored.byHash.has(hash);
  }

  forEach(visit: (key: Key, hash: string, map: ReadonlyMap<string, Key>) => void): void {
    for (const [hash, key] of this) visit(key, hash, this);
  }

  *entries(): MapIterator<[string, Key]> {
    yield* this.configured.entries();
    for (const entry of this.stored.byHash) if (!this.configured.has(entry[0])) yield entry;
  }

  *keys(): MapIterator<string> {
    for (const [hash] of this) yield hash;
  }

  *values(): MapIterator<Key> {
    for (const [, key] of this) yield key;
  }

  [Symbol.iterator](): MapIterator<[string, Key]> {
    return this.entries();
  }
}
