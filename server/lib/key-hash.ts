/** An API key is stored as its SHA-256 in hex. Keys are long and random, so a slow password hash is not needed. */
export const keyHash = (key: string): string => Bun.SHA256.hash(key, "hex");
