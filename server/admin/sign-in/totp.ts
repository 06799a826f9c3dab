/**
 * Time-based one-time passwords (RFC 6238, with the values that every authenticator app supports: HMAC-SHA-1, 30
 * seconds, six digits), and recovery codes for a lost authenticator.
 */
import { createHmac, randomBytes, randomInt } from "node:crypto";

const stepMs = 30_000;
const digits = 6;
/** Codes of the step before and after are accepted too, because clocks differ. */
const maxSkew = 1;
/** RFC 4226, section 4: at least 128 bits, and 160 are recommended. */
const secretBytes = 20;
/** RFC 4648. Without 0, 1, 8 and 9, which are easily confused. */
const base32Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const recoveryCodes = 10;
const recoveryLength = 16;

/** In Base32, as authenticator apps show it. */
export const newTotpSecret = (): string => toBase32(randomBytes(secretBytes));

/** For the QR code: github.com/google/google-authenticator/wiki/Key-Uri-Format. */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}

/**
 * The time step of a code that is valid at `at`. Undefined if the code is wrong, or its step is not after `lastStep`: a
 * code is valid once.
 */
export function matchingStep(
  code: string,
  secret: string,
  at: number,
  lastStep: number,
): number | undefined {
  const current = Math.floor(at / stepMs);
  for (let step = current - maxSkew; step <= current + maxSkew; step++) {
    if (step > lastStep && codeOfStep(secret, step) === code) return step;
  }
  return undefined;
}

/** Such as `ABCD-EFGH-IJKL-MNOP`: 80 random bits, so a hash without a salt protects a stored code. */
export const newRecoveryCodes = (): string[] =>
  Array.from({ length: recoveryCodes }, () => {
    const letters = Array.from({ length: recoveryLength }, () => base32Alphabet[randomInt(32)]);
    return letters.join("").replaceAll(/.{4}(?=.)/g, "$&-");
  });

/** As a person types it: without regard to case, spaces and hyphens. */
export const normalizedCode = (typed: string): string =>
  typed.toUpperCase().replaceAll(/[\s-]/g, "");

/** `step`: a number of periods since 1970. */
export function codeOfStep(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac("sha1", fromBase32(secret)).update(counter).digest();
  // RFC 4226, section 5.3: dynamic truncation.
  const offset = (hash.at(-1) ?? 0) & 15;
  const number = hash.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}

function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? [])
    .map((five) => base32Alphabet[Number.parseInt(five, 2)])
    .join("");
}

function fromBase32(text: string): Buffer {
  const bits = [...text]
    .map((letter) => base32Alphabet.indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}
