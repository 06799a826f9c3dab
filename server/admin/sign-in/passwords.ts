/**
 * Password hashing for users of the console, with argon2id. It is slow and takes memory on purpose, so few passwords
 * are hashed at the same time.
 */

import { message } from "../../../contract/messages/message.ts";
import { maxPasswordLength } from "../../../contract/schemas/users.ts";
import { GatewayError } from "../../lib/gateway-error.ts";

export interface HashCost {
  /** KiB of memory that one hash takes. */
  readonly memoryCost: number;
  /** Passes over that memory. */
  readonly timeCost: number;
}

/** Above OWASP's minimum for argon2id of 19 MiB and two passes. */
const productionCost: HashCost = { memoryCost: 64 * 1024, timeCost: 2 };
/** Each hash takes 64 MiB. */
const maxConcurrent = 2;
const maxWaiting = 20;

export class Passwords {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #cost: HashCost;
  #placeholder: Promise<string> | undefined;

  /** Tests pass a low cost. */
  constructor(cost = productionCost) {
    this.#cost = cost;
  }

  hash(password: string): Promise<string> {
    return this.#limited(() => this.#hash(password));
  }

  /** `hash` undefined or null: the user does not exist or has no password. The result is false then. */
  async verify(password: string, hash: string | null | undefined): Promise<boolean> {
    if (password.length > maxPasswordLength) return false;
    const matches = await this.#limited(async () => {
      // Awaited for known names as well, so that the first sign-in takes equally long for known and unknown names.
      const placeholder = await this.#placeholderHash();
      return Bun.password.verify(password, hash ?? placeholder);
    });
    return matches && typeof hash === "string";
  }

  /**
   * The hash of a random password: a sign-in with an unknown name takes as long as one with a known name. Computed at
   * the first sign-in: requests with the admin token need no hash.
   */
  #placeholderHash(): Promise<string> {
    this.#placeholder ??= this.#hash(crypto.randomUUID());
    return this.#placeholder;
  }

  #hash(password: string): Promise<string> {
    return Bun.password.hash(password, { algorithm: "argon2id", ...this.#cost });
  }

  async #limited<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= maxConcurrent) {
      if (this.#waiting.length >= maxWaiting) {
        throw new GatewayError("overloaded", message("too_many_sign_ins_now"), {
          retryAfterMs: 5_000,
        });
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      // The slot passes to the next waiter.
      if (next) next();
      else this.#running--;
    }
  }
}
