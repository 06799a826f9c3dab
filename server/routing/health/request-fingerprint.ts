/**
 * Tells requests apart by their bodies, so that a bad request that a client sends again and again counts as one failure
 * of its target. Long lists and texts are compared by their beginning: a step on the serving loop stays short.
 */

const [maxEntries, maxCharacters] = [16, 1000];

export const requestFingerprint = (query: unknown): string =>
  Bun.hash(JSON.stringify(query, shorten)).toString(36);

function shorten(_: string, value: unknown): unknown {
  if (typeof value === "string" && value.length > maxCharacters) {
    return [value.length, value.slice(0, maxCharacters)];
  }
  if (Array.isArray(value) && value.length > maxEntries) {
    return [value.length, ...value.slice(0, maxEntries)];
  }
  return ArrayBuffer.isView(value) ? value.byteLength : value;
}
