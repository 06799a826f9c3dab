/** Passwords of console users: argon2id. Hashing is slow and takes memory on purpose, so few run at the same time. */
import { minPasswordLength } from "../../../contract/admin.ts";
import { GatewayError } from "../../lib/gateway-error.ts";

const maxPasswordLength = 200;
/** Each hash takes 64 MiB. */
const maxConcurrent = 2;
const maxWaiting = 20;

export class Passwords {
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  /** The hash of a random password: a sign-in with an unknown name takes as long as one with a known name. */
  readonly #placeholder = Bun.password.hash(crypto.randomUUID(), "argon2id");

  async hash(password: string): Promise<string> {
    checkLength(password);
    return this.#limited(() => Bun.password.hash(password, "argon2id"));
  }

  /** `hash` undefined or null: the user does not exist or has no password. The result is false then. */
  async verify(password: string, hash: string | null | undefined): Promise<boolean> {
    if (password.length > maxPasswordLength) return false;
    const matches = await this.#limited(async () =>
      Bun.password.verify(password, hash ?? (await this.#placeholder)),
    );
    return matches && typeof hash === "string";
  }

  async #limited<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= maxConcurrent) {
      if (this.#waiting.length >= maxWaiting) {
        throw new GatewayError(
          "overloaded",
          "Too many sign-ins at the same time. Try again soon.",
          {
            retryAfterMs: 5_000,
          },
        );
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

function checkLength({ length }: string): void {
  if (length >= minPasswordLength && length <= maxPasswordLength) return;
  throw new GatewayError(
    "invalid_value",
    `Invalid 'password': it must have ${minPasswordLength} to ${maxPasswordLength} characters.`,
    { param: "password" },
  );
}
