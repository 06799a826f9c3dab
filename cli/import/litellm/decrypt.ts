/**
 * Decrypts values of LiteLLM's database. LiteLLM encrypts with a key derived from LITELLM_SALT_KEY, or from its master
 * key: with AES-256-GCM (prefix `v2:gcm:`), else with NaCl's secretbox.
 */
import { createDecipheriv, createHash } from "node:crypto";

export type Decrypt = (value: string) => string | undefined;

const gcmPrefix = "v2:gcm:";

/** Returns undefined for a value that this key did not encrypt. */
export async function litellmDecryption(saltKey: string): Promise<Decrypt> {
  // Loaded on demand: no other command decrypts values of LiteLLM.
  const { xsalsa20poly1305 } = await import("@noble/ciphers/salsa.js");
  const key = createHash("sha256").update(saltKey).digest();
  const secretbox = (bytes: Buffer): string =>
    new TextDecoder("utf-8", { fatal: true }).decode(
      xsalsa20poly1305(key, bytes.subarray(0, 24)).decrypt(bytes.subarray(24)),
    );
  return (value) => {
    try {
      return value.startsWith(gcmPrefix)
        ? openGcm(key, Buffer.from(value.slice(gcmPrefix.length), "base64url"))
        : secretbox(Buffer.from(value, "base64url"));
    } catch {
      return undefined;
    }
  };
}

/** The bytes are the nonce (12), the ciphertext and the tag (16). */
function openGcm(key: Buffer, bytes: Buffer): string {
  const opening = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
  opening.setAuthTag(bytes.subarray(-16));
  return Buffer.concat([opening.update(bytes.subarray(12, -16)), opening.final()]).toString();
}
