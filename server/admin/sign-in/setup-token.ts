/** The one-time link that creates the first administrator. It is printed at the start while there is no user. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { keyHash } from "../../lib/key-hash.ts";

export const randomSetupToken = (): string => randomBytes(24).toString("base64url");

export class SetupToken {
  readonly value: string;
  readonly #hash: Buffer;

  constructor(value = randomSetupToken()) {
    this.value = value;
    this.#hash = Buffer.from(keyHash(value));
  }

  matches(presented: string): boolean {
    return timingSafeEqual(Buffer.from(keyHash(presented)), this.#hash);
  }
}
