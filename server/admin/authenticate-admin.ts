/** Authenticates the operator by the admin key. The admin API is off unless VEXEL_ADMIN_KEY is set. */
import { timingSafeEqual } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { GatewayError } from "../lib/gateway-error.ts";
import { keyHash } from "../lib/key-hash.ts";
import type { AdminEnv } from "./admin-env.ts";

/** Timing-safe: it compares hashes of one length in constant time, so the time reveals nothing about the key. */
export function authenticateAdmin(key: string): MiddlewareHandler<AdminEnv> {
  const expectedHash = Buffer.from(keyHash(key));
  return async ({ req }, next) => {
    if (key === "") {
      throw new GatewayError(
        "unknown_url",
        "The admin API is off. The operator can turn it on by setting VEXEL_ADMIN_KEY.",
      );
    }
    const presented = /^bearer +(\S+) *$/i.exec(req.header("authorization") ?? "")?.[1];
    if (!presented) {
      throw new GatewayError(
        "missing_api_key",
        "You didn't provide the admin key. Send it in the header Authorization: Bearer KEY.",
      );
    }
    if (!timingSafeEqual(Buffer.from(keyHash(presented)), expectedHash)) {
      throw new GatewayError(
        "invalid_api_key",
        "Incorrect admin key provided. The admin key is the value of VEXEL_ADMIN_KEY when the gateway started.",
      );
    }
    await next();
  };
}
