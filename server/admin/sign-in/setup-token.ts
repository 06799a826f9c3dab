/**
 * The one-time link that creates the first administrator. It is shown while there is no user. Its token is derived from
 * `VEXEL_SECRET` or from the key in the data folder, so that the replicas and workers to which a load balancer may send
 * the link accept it, and `vexel setup-link` can show it.
 */
import { isSameSecret } from "../../lib/secret-hash.ts";
import type { SecretBox } from "../../storage/encrypt-secret.ts";

const tokenBytes = 24;

export type SetupToken = ReturnType<typeof createSetupToken>;

export function createSetupToken(secrets: Pick<SecretBox, "hash">) {
  return {
    get value(): string {
      const bytes = Buffer.from(secrets.hash("console", "setup token"), "hex");
      return bytes.subarray(0, tokenBytes).toString("base64url");
    },
    matches(presented: string): boolean {
      return isSameSecret(presented, this.value);
    },
    /** The path of the link in the console. */
    get path(): string {
      return `/console/setup#${this.value}`;
    },
  };
}
