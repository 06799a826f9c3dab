/**
 * The device cookie: shows that the user has signed in with the password in this browser before. It grants no access;
 * the throttle counts failures with this cookie separately from all others. It is signed with the password hash, which
 * only the gateway knows and which changes with the password.
 */
import { createHmac, randomBytes } from "node:crypto";
import { isSameSecret } from "../../lib/secret-hash.ts";

export const deviceCookie = "vexel_device";
export const deviceMaxAgeSeconds = 180 * 24 * 60 * 60;

export function newDevice(passwordHash: string): string {
  const id = randomBytes(12).toString("base64url");
  return `${id}.${signatureOf(id, passwordHash)}`;
}

/** The device id of the cookie. Undefined if the cookie is absent or belongs to another user. */
export function deviceOf(
  cookie: string | undefined,
  passwordHash: string | null | undefined,
): string | undefined {
  const [id = "", signature = ""] = cookie?.split(".") ?? [];
  if (id === "" || !passwordHash) return undefined;
  return isSameSecret(signature, signatureOf(id, passwordHash)) ? id : undefined;
}

const signatureOf = (id: string, passwordHash: string): string =>
  createHmac("sha256", passwordHash).update(`device ${id}`).digest("base64url");
