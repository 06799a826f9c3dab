/**
 * The one-time link that creates the first administrator. It is printed at the start while there is no user. Replicas
 * that share a database accept the same token, because a load balancer may send the link to any of them.
 */
import { hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import { secretHash } from "../../lib/secret-hash.ts";

const tokenBytes = 24;

/** `secret`: `VEXEL_SECRET` of replicas that share a database. Undefined: a random token. */
export function createSetupToken(secret?: string): SetupToken {
  const bytes =
    secret === undefined
      ? randomBytes(tokenBytes)
      : Buffer.from(hkdfSync("sha256", secret, "vexel", "setup token", tokenBytes));
  return new SetupToken(bytes.toString("base64url"));
}

export class SetupToken {
  readonly value: string;
  readonly #hash: Buffer;

  constructor(value: string) {
    this.value = value;
    this.#hash = Buffer.from(secretHash(value));
  }

  matches(presented: string): boolean {
    return timingSafeEqual(Buffer.from(secretHash(presented)), this.#hash);
  }
}
