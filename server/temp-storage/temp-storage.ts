/**
 * Bounds the temp files of all requests together; API keys share the space (`KeyShares`). Stored responses share their
 * space the same way (`storage/files/response-files.ts`).
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { KeyShares } from "../lib/key-shares.ts";
import type { DiskReserve, DiskUse } from "./disk-reserve.ts";

interface TempStorageOptions {
  readonly maxBytes: number;
  readonly disk: Pick<DiskReserve, "hasSpace" | "recordWrite">;
  /**
   * For errors: what is stored, the setting that bounds it, and when space is free again. The default is temp storage.
   */
  readonly subject?: Subject;
}

interface Subject {
  readonly name: string;
  readonly setting: string;
  readonly retryAfterMs: number;
}

/**
 * A key may hold this many times the free storage. The factor is higher for responses: they are paid for, and must find
 * space even if the same key's uploads have used up its share.
 */
const shareFactor = { upload: 1, request: 4, response: 4 } as const satisfies Record<
  DiskUse,
  number
>;

/** About the time that most uploads take. */
const retryAfterMs = 5000;
const tempStorage = { name: "temp storage", setting: "VEXEL_TEMP_STORAGE_BYTES", retryAfterMs };

export class TempStorage {
  readonly #options: TempStorageOptions;
  readonly #shares: KeyShares;
  /** The part of the held bytes that is reserved and not written yet. */
  #unwritten = 0;

  constructor(options: TempStorageOptions) {
    this.#options = options;
    this.#shares = new KeyShares(options.maxBytes);
  }

  /** Bytes that all requests hold. */
  get held(): number {
    return this.#shares.held;
  }

  /** Opens the account of one request. */
  account(keyId: string, use: DiskUse): TempAccount {
    return new TempAccount(this, keyId, use);
  }

  /** Takes storage for bytes that are about to be written. Throws GatewayError. */
  take(keyId: string, bytes: number, use: DiskUse): void {
    this.#check(keyId, bytes, use);
    this.charge(keyId, bytes);
    this.#options.disk.recordWrite(bytes);
  }

  /** Throws GatewayError if there is no space for the response of a request that is about to be sent. */
  ensureSpace(keyId: string, bytes: number): void {
    const { maxBytes, disk } = this.#options;
    // At most an eighth of the storage is required: with a small storage, a single request must still be able to run.
    this.#checkShare(keyId, Math.min(bytes, maxBytes / 8), "request");
    // A request must leave more of the disk free than a response, so there is space for its response. The disk need not
    // have `bytes` free: `bytes` is an estimate (8 MiB, `responseBytes` in `request-temp.ts`), and a small disk may
    // have less.
    if (!disk.hasSpace(this.#unwritten, "request")) throw diskFull();
  }

  /** Reserves storage for an upload of known length, before any of it is read. Throws GatewayError. */
  reserve(keyId: string, bytes: number, use: DiskUse): void {
    const maxKeyBytes = maxBytesPerKey(this.#options.maxBytes, use);
    if (bytes > maxKeyBytes) throw tooLarge(bytes, Math.floor(maxKeyBytes));
    this.#check(keyId, bytes, use);
    this.charge(keyId, bytes);
    this.#unwritten += bytes;
  }

  /** Converts reserved bytes into bytes that are about to be written. */
  use(bytes: number): void {
    this.#unwritten -= bytes;
    this.#options.disk.recordWrite(bytes);
  }

  /** Releases reserved bytes that are not needed. */
  cancel(keyId: string, bytes: number): void {
    this.#unwritten -= bytes;
    this.release(keyId, bytes);
  }

  /** Counts bytes as held by the key. A worker process may have written them to disk already. */
  charge(keyId: string, bytes: number): void {
    this.#shares.take(keyId, bytes);
  }

  release(keyId: string, bytes: number): void {
    this.#shares.release(keyId, bytes);
  }

  #check(keyId: string, bytes: number, use: DiskUse): void {
    this.#checkShare(keyId, bytes, use);
    if (!this.#options.disk.hasSpace(bytes + this.#unwritten, use)) throw diskFull();
  }

  #checkShare(keyId: string, bytes: number, use: DiskUse): void {
    if (this.#shares.mayTake(keyId, bytes, shareFactor[use])) return;
    const held = this.#shares.heldBy(keyId);
    throw use === "upload" && held > 0 ? shareUsedUp(held) : noSpace(this.#options.subject);
  }
}

/** The storage that one request takes from its key's share. */
export class TempAccount {
  readonly #storage: TempStorage;
  readonly #keyId: string;
  readonly #use: DiskUse;
  #reserved = 0;

  constructor(storage: TempStorage, keyId: string, use: DiskUse) {
    this.#storage = storage;
    this.#keyId = keyId;
    this.#use = use;
  }

  reserve(bytes: number): void {
    this.#storage.reserve(this.#keyId, bytes, this.#use);
    this.#reserved += bytes;
  }

  /** Takes from the reservation first, then from the storage. */
  take(bytes: number): void {
    const reserved = Math.min(bytes, this.#reserved);
    if (bytes > reserved) this.#storage.take(this.#keyId, bytes - reserved, this.#use);
    if (reserved > 0) this.#storage.use(reserved);
    this.#reserved -= reserved;
  }

  ensureSpace(bytes: number): void {
    this.#storage.ensureSpace(this.#keyId, bytes);
  }

  charge(bytes: number): void {
    this.#storage.charge(this.#keyId, bytes);
  }

  release(bytes: number): void {
    this.#storage.release(this.#keyId, bytes);
  }

  /** Nothing more will be written: the rest of the reservation is free again. */
  cancelReservation(): void {
    if (this.#reserved > 0) this.#storage.cancel(this.#keyId, this.#reserved);
    this.#reserved = 0;
  }
}

/** The most bytes that one key can hold while no other key holds any. */
const maxBytesPerKey = (maxBytes: number, use: DiskUse): number =>
  (maxBytes * shareFactor[use]) / (shareFactor[use] + 1);

const tooLarge = (bytes: number, maxKeyBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The upload has ${bytes} bytes; the gateway has space on disk for ${maxKeyBytes} bytes of one API key. Send smaller files, or ask the gateway's operator to raise VEXEL_TEMP_STORAGE_BYTES.`,
  );

const shareUsedUp = (held: number): GatewayError =>
  new GatewayError(
    "upload_limit_reached",
    `Other requests of this API key hold ${held} bytes of temp storage, which is its share. Wait until they are finished or abort them, send fewer uploads at once, or ask the gateway's operator to raise VEXEL_TEMP_STORAGE_BYTES.`,
    { retryAfterMs },
  );

const noSpace = ({ name, setting, retryAfterMs }: Subject = tempStorage): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    `The gateway's ${name} is full, or this API key has used its share. The gateway's operator can raise ${setting}.`,
    { retryAfterMs },
  );

const diskFull = (): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The gateway's disk is almost full, and the rest is kept for its ledger. Ask its operator to free space on the disk under VEXEL_DATA.",
    { retryAfterMs },
  );
