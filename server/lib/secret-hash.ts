/** Secrets such as API keys are stored as SHA-256 hashes, and compared in constant time. */
import { timingSafeEqual } from "node:crypto";

/**
 * SHA-256 in hex, of an API key or another secret. These secrets are long and random, so a slow password hash is not
 * needed.
 */
export const secretHash = (secret: string): string => Bun.SHA256.hash(secret, "hex");

/** Compares two secrets by hashes of one length in constant time, so the duration reveals nothing about them. */
export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(secretHash(a)), Buffer.from(secretHash(b)));
