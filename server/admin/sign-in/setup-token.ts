/** The one-time link that creates the first administrator. It is printed at the start while there is no user. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { keyHash } from "../../lib/key-hash.ts";

export class SetupToken {
  readonly value = randomBytes(24).toString("base64url");
  readonly #hash = Buffer.from(keyHash(this.value));

  matches(presented: string): boolean {
    return timingSafeEqual(Buffer.from(keyHash(presented)), this.#hash);
  }
}
