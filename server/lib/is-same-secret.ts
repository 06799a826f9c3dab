/** Compares two secrets by hashes of one length in constant time, so the duration reveals nothing about them. */
import { timingSafeEqual } from "node:crypto";
import { keyHash } from "./key-hash.ts";

export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(Buffer.from(keyHash(a)), Buffer.from(keyHash(b)));
