/**
 * Signed link to an image: it works for every client that has it, until it expires. The name and the expiry are signed
 * together (HMAC), so a name alone gives no access, and a client cannot extend a link.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

const signatureOf = (name: string, expires: number, secret: Uint8Array): Buffer =>
  createHmac("sha256", secret).update(`${name}\n${expires}`).digest();

/** The query string of a link: `?expires=…&signature=…`. `expires`: Unix seconds. */
export const signLink = (name: string, expires: number, secret: Uint8Array): string =>
  `?expires=${expires}&signature=${signatureOf(name, expires, secret).toString("base64url")}`;

/**
 * Returns the expiry in Unix seconds; undefined if no secret made the signature, or the link has expired. `now`: Unix
 * milliseconds.
 */
export function verifyLink(
  name: string,
  search: string,
  secrets: readonly Uint8Array[],
  now: number,
): number | undefined {
  const parameters = new URLSearchParams(search);
  const expiresText = parameters.get("expires") ?? "";
  // The signature covers the number, so only its canonical spelling is accepted.
  const expires = /^[1-9]\d{0,11}$/.test(expiresText) ? Number(expiresText) : 0;
  const text = parameters.get("signature") ?? "";
  if (!secrets.some((secret) => isSignature(text, signatureOf(name, expires, secret))))
    return undefined;
  return expires * 1000 > now ? expires : undefined;
}

function isSignature(text: string, expected: Buffer): boolean {
  const received = Buffer.from(text, "base64url");
  // Constant time: the duration must not show how much of the signature matches.
  if (received.length !== expected.length || !timingSafeEqual(received, expected)) return false;
  // Only the canonical spelling is accepted: the decoder ignores characters that are not base64url, and unused bits.
  return text === expected.toString("base64url");
}
