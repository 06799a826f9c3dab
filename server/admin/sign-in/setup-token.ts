/**
 * The one-time link that creates the first administrator. It is printed at the start while there is no user. Replicas
 * that share a database accept the same token, because a load balancer may send the link to any of them.
 */
import { hkdfSync, randomBytes } from "node:crypto";
import { isSameSecret } from "../../lib/secret-hash.ts";

const tokenBytes = 24;

export type SetupToken = ReturnType<typeof createSetupToken>;

/** `secret`: `VEXEL_SECRET` of replicas that share a database. Undefined: a random token. */
export function createSetupToken(secret?: string) {
  const bytes =
    secret === undefined
      ? randomBytes(tokenBytes)
      : Buffer.from(hkdfSync("sha256", secret, "vexel", "setup token", tokenBytes));
  const value = bytes.toString("base64url");
  return { value, matches: (presented: string): boolean => isSameSecret(presented, value) };
}
