/**
 * Links that work for whoever has them, until they expire. The name and the expiry are signed together: who knows a name
 * has nothing, and who has a link cannot make it last longer.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

const signatureOf = (name: string, expires: number, secret: Uint8Array): Buffer =>
  createHmac("sha256", secret).update(`${name}\n${expires}`).digest();

/** What is put behind a link: `?expires=…&signature=…`. `expires`: Unix seconds. */
export const signLink = (name: string, expires: number, secret: Uint8Array): string =>
  `?expires=${expires}&signature=${signatureOf(name, expires, secret).toString("base64url")}`;

/** When it expires, in Unix seconds, if it is one of ours and has not. `now`: Unix milliseconds. */
export function verifyLink(
  name: string,
  search: string,
  secret: Uint8Array,
  now: number,
): number | undefined {
  const asked = new URLSearchParams(search);
  const said = asked.get("expires") ?? "";
  // In one spelling only: what is signed is the number.
  const expires = /^[1-9]\d{0,11}$/.test(said) ? Number(said) : 0;
  const text = asked.get("signature") ?? "";
  const given = Buffer.from(text, "base64url");
  const right = signatureOf(name, expires, secret);
  // Compared whole, however much of it is right: time must not tell.
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
  // In one spelling only here too: the decoder passes over signs that are not base64url, and over unused bits.
  if (text !== right.toString("base64url")) return undefined;
  return expires * 1000 > now ? expires : undefined;
}
