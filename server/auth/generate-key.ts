/** Generates an API key. Its text is shown once; only its hash is stored. */
import { randomBytes } from "node:crypto";
import { firstKeyId } from "../../contract/limits-and-budgets.ts";
import { secretHash } from "../lib/secret-hash.ts";
import type { KeySettings, NewKey } from "../storage/sql/stored-key.ts";

interface GeneratedKey {
  /** The text that clients send. */
  readonly text: string;
  readonly key: NewKey;
}

/** With that much entropy, one round of SHA-256 protects the stored hash. */
const keyRandomBytes = 32;

/** `createdAt`: Unix milliseconds. `replaced`: the id of the key that this one replaces. */
export function generateKey(
  name: string,
  models: readonly string[],
  settings: KeySettings,
  createdAt: number,
  replaced?: string,
): GeneratedKey {
  const text = `sk-vx-${randomBytes(keyRandomBytes).toString("base64url")}`;
  const random = randomBytes(8).toString("hex");
  const id = replaced === undefined ? `key_${random}` : `${firstKeyId(replaced)}-${random}`;
  const hint = text.slice(0, 10);
  return { text, key: { id, name, hash: secretHash(text), hint, models, ...settings, createdAt } };
}
