/** Hashes of secrets: API keys are stored as SHA-256 hashes, and secrets are compared in constant time. */
import { timingSafeEqual } from "node:crypto";

/** An API key is stored as its SHA-256 in hex. Keys are long and random, so a slow password hash is not needed. */
export const keyHash = (key: string): string => Bun.SHA256.hash(key, "hex");

/** Compares two secrets by hashes of one length in constant time, so the duration reveals nothing about them. */
export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(keyHash(a)), Buffer.from(keyHash(b)));
