/**
 * Encryption at rest of stored secrets, such as the API keys of upstreams: AES-256-GCM with a key derived from
 * `VEXEL_SECRET`, or with a generated key in the data folder. The envelope names the key, so that secrets of earlier
 * keys stay readable while they are re-encrypted.
 */
import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { join } from "node:path";
import { createSecretFile, readSecretFile } from "./files/secret-file.ts";
import { StoreError } from "./sqlite/open-database.ts";

interface SecretBoxOptions {
  /** The data folder. It must exist. */
  readonly folder: string;
  /** `VEXEL_SECRET`. Empty: the generated key file. */
  readonly secret: string;
  /** `VEXEL_SECRET_PREVIOUS`: secrets that only decrypt. */
  readonly previous: readonly string[];
}

/** The secret cannot be decrypted. The message contains neither the secret nor a key. */
export class DecryptionError extends Error {
  override readonly name = "DecryptionError";
}

interface ChunkEncryption {
  readonly head: Buffer;
  update(chunk: Uint8Array): Buffer;
  /** The last bytes. */
  end(): Buffer;
}

const damaged = (cause?: unknown): DecryptionError =>
  new DecryptionError("the stored secret is damaged", { cause });

interface EncryptionKey {
  readonly id: string;
  readonly bytes: Uint8Array;
}

const format = "v1";
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** The version, a dot, the id of the key in 16 hex digits, a dot. */
const prefixBytes = format.length + 1 + 16 + 1;
const keyFileName = "secret.key";

export class SecretBox {
  readonly #path: string;
  readonly #configured: EncryptionKey | undefined;
  readonly #previous: readonly EncryptionKey[];
  /** The key of the file. Read when it is needed: a gateway without stored secrets needs no file. */
  #generated: EncryptionKey | undefined;
  /** By purpose. */
  readonly #hashKeys = new Map<string, Uint8Array>();

  constructor({ folder, secret, previous }: SecretBoxOptions) {
    this.#path = join(folder, keyFileName);
    this.#configured = secret === "" ? undefined : keyFromText(secret);
    this.#previous = previous.map(keyFromText);
  }

  /** `context`: where the secret is stored. The envelope cannot be decrypted anywhere else. */
  encrypt(text: string, context: string): string {
    const { keyId, nonce, cipher } = this.#cipher(context);
    const sealed = [nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
    return [format, keyId, Buffer.concat(sealed).toString("base64url")].join(".");
  }

  /** Throws DecryptionError. */
  decrypt(envelope: string, context: string): string {
    const [version, keyId, sealed = "", ...more] = envelope.split(".");
    if (version !== format || more.length > 0) throw damaged();
    return this.#open(keyId, Buffer.from(sealed, "base64url"), context).toString("utf8");
  }

  /** Encrypts bytes that arrive in chunks: `head`, then each chunk, then `end()`. */
  encryptChunks(context: string): ChunkEncryption {
    const { keyId, nonce, cipher } = this.#cipher(context);
    return {
      head: Buffer.concat([Buffer.from(`${format}.${keyId}.`), nonce]),
      update: (chunk) => cipher.update(chunk),
      end: () => Buffer.concat([cipher.final(), cipher.getAuthTag()]),
    };
  }

  /** The bytes that `encryptChunks` made. Throws DecryptionError. */
  decryptBytes(bytes: Buffer, context: string): Buffer {
    const keyId = bytes.toString("latin1", format.length + 1, prefixBytes - 1);
    return this.#open(keyId, bytes.subarray(prefixBytes), context);
  }

  /** A hash that only holders of the key can compute, in hexadecimal. A new key changes it. */
  hash(text: string, purpose: string): string {
    let key = this.#hashKeys.get(purpose);
    if (!key) {
      key = new Uint8Array(hkdfSync("sha256", this.#current().bytes, "vexel", purpose, keyBytes));
      this.#hashKeys.set(purpose, key);
    }
    return createHmac("sha256", key).update(text).digest("hex");
  }

  #current(): EncryptionKey {
    return this.#configured ?? this.#keyFile() ?? this.#createKeyFile();
  }

  #cipher(context: string): { keyId: string; nonce: Buffer; cipher: CipherGCM } {
    const key = this.#current();
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(Buffer.from(context));
    return { keyId: key.id, nonce, cipher };
  }

  #open(keyId: string | undefined, bytes: Buffer, context: string): Buffer {
    if (bytes.length < nonceBytes + tagBytes) throw damaged();
    const key = this.#keys().find(({ id }) => id === keyId);
    if (!key) {
      throw new DecryptionError(
        "the stored secret was encrypted with another key: set VEXEL_SECRET_PREVIOUS to the earlier VEXEL_SECRET, or restore secret.key in the data folder",
      );
    }
    const end = bytes.length - tagBytes;
    try {
      const decipher = createDecipheriv("aes-256-gcm", key.bytes, bytes.subarray(0, nonceBytes))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(end));
      const text = decipher.update(bytes.subarray(nonceBytes, end));
      return Buffer.concat([text, decipher.final()]);
    } catch (cause) {
      throw damaged(cause);
    }
  }

  /** False: the envelope should be encrypted again, because its key is an earlier one. */
  isCurrent(envelope: string): boolean {
    return envelope.split(".")[1] === (this.#configured ?? this.#keyFile())?.id;
  }

  #keys(): readonly EncryptionKey[] {
    const generated = this.#keyFile();
    return [
      ...(this.#configured ? [this.#configured] : []),
      ...this.#previous,
      ...(generated ? [generated] : []),
    ];
  }

  #keyFile(): EncryptionKey | undefined {
    const bytes = this.#generated ? undefined : readSecretFile(this.#path);
    if (bytes) this.#generated = this.#keyOf(bytes);
    return this.#generated;
  }

  #createKeyFile(): EncryptionKey {
    this.#generated = this.#keyOf(createSecretFile(this.#path, keyBytes));
    return this.#generated;
  }

  /** A damaged key is never replaced: every secret that it has encrypted would be lost. */
  #keyOf(bytes: Uint8Array): EncryptionKey {
    if (bytes.length === keyBytes) return { id: keyIdOf(bytes), bytes };
    throw new StoreError(
      `${this.#path} is damaged: it must have ${keyBytes} bytes. Restore a copy of it. Without it, stored secrets cannot be decrypted.`,
    );
  }
}

/** HKDF is enough for a long random secret; the setting demands at least 16 characters. */
function keyFromText(secret: string): EncryptionKey {
  const bytes = new Uint8Array(hkdfSync("sha256", secret, "vexel", "stored secrets", keyBytes));
  return { id: keyIdOf(bytes), bytes };
}

/** Identifies a key without revealing it. */
const keyIdOf = (bytes: Uint8Array): string =>
  createHash("sha256").update("key id").update(bytes).digest("hex").slice(0, 16);
