/** How a key is known: by its SHA-256 in hex. Keys are long and random, so nothing slower is needed. */
export const keyHash = (key: string): string => Bun.SHA256.hash(key, "hex");
