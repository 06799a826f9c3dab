/**
 * The device cookie: shows that the user has signed in with the password in this browser before. It grants no access;
 * the throttle counts failures with this cookie separately from all others. It is signed with the password hash, which
 * only the gateway knows and which changes with the password.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

export const deviceCookie = "vexel_device";
export const deviceMaxAgeSeconds = 180 * 24 * 60 * 60;

export function newDevice(passwordHash: string): string {
  const id = randomBytes(12).toString("base64url");
  return `${id}.${signatureOf(id, passwordHash)}`;
}

/** The device id of the cookie. Undefined: the cookie is absent or belongs to another user. */
export function deviceOf(
  cookie: string | undefined,
  passwordHash: string | null | undefined,
): string | undefined {
  const [id = "", signature = ""] = cookie?.split(".") ?? [];
  if (id === "" || !passwordHash) return undefined;
  const expected = Buffer.from(signatureOf(id, passwordHash));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined;
}

const signatureOf = (id: string, passwordHash: string): string =>
  createHmac("sha256", passwordHash).update(`device ${id}`).digest("base64url");
