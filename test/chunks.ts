/** Bytes split into chunks, as they may arrive over a socket. */
import { ChunkedBytes } from "../server/lib/chunked-bytes.ts";

export function inPieces(bytes: Buffer, cuts: readonly number[]): ChunkedBytes {
  const places = [...new Set(cuts.filter((cut) => cut > 0 && cut < bytes.length))];
  const borders = [0, ...places.sort((a, b) => a - b), bytes.length];
  return new ChunkedBytes(borders.slice(1).map((to, at) => bytes.subarray(borders[at], to)));
}
