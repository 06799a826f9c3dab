/**
 * The records of an outbox file (write-ahead log). A record is a line: the length of its JSON and its checksum
 * (CRC-32), both in eight hexadecimal digits, and the JSON. Length and checksum detect a torn write at the end, which a
 * power failure leaves; the line feed lets a reader continue after a damaged record.
 */
import { fromValues, valuesOf } from "../ledger-row-values.ts";
import { isCompleteRow, type LedgerRow } from "../ports/ledger-row.ts";
import type { ReservedRequest } from "../ports/outbox.ts";

type ReservedValues = readonly [
  requestId: string,
  at: number,
  endpoint: string,
  keyId: string,
  model: string | null,
  project: string | null,
  estimate: number,
];

/** Exactly one of the members is set. */
interface OutboxRecord {
  /** Ledger rows. Each also settles the reservation of its request. */
  readonly rows?: readonly (readonly unknown[])[];
  /** A request that may be billed. */
  readonly reserved?: ReservedValues;
  /** The request id of a reservation that ended without a row in the outbox. */
  readonly released?: string;
  /** The request id of a row: this row and all rows before it are in the ledger store. */
  readonly stored?: string;
}

export const rowsRecord = (rows: readonly LedgerRow[]): string =>
  encode({ rows: rows.map(valuesOf) });

export const reservedRecord = (request: ReservedRequest): string => {
  const { requestId, at, endpoint, keyId, model, project, estimate } = request;
  return encode({ reserved: [requestId, at, endpoint, keyId, model, project, estimate] });
};

export const releasedRecord = (requestId: string): string => encode({ released: requestId });

export const storedRecord = (lastRequestId: string): string => encode({ stored: lastRequestId });

const hex = (value: number): string => value.toString(16).padStart(8, "0");

export function encode(record: OutboxRecord): string {
  const json = JSON.stringify(record);
  return `${hex(Buffer.byteLength(json))} ${hex(Bun.hash.crc32(json))} ${json}\n`;
}

export interface OutboxContent {
  /** Rows that are not known to be in the ledger store. */
  readonly rows: readonly LedgerRow[];
  /** Reservations without a row: it is unknown whether the requests were billed. */
  readonly reserved: readonly ReservedRequest[];
  /** Records and rows that cannot be read. */
  readonly unreadable: number;
}

const lineFeed = 0x0a;
const headLength = 18;
const headPattern = /^([0-9a-f]{8}) ([0-9a-f]{8}) $/;

export function readOutbox(bytes: Buffer): OutboxContent {
  const content = new ContentReader();
  for (let at = 0; at < bytes.length; ) {
    const json = jsonAt(bytes, at);
    content.add(json);
    if (json !== undefined) at += headLength + json.length + 1;
    else {
      const next = bytes.indexOf(lineFeed, at);
      at = next < 0 ? bytes.length : next + 1;
    }
  }
  const { rows, reserved, unreadable } = content;
  return { rows, reserved, unreadable };
}

/** The JSON of the record at `at`. Undefined: it is torn or damaged. */
function jsonAt(bytes: Buffer, at: number): Buffer | undefined {
  const [, length = "", checksum = ""] =
    headPattern.exec(bytes.toString("latin1", at, at + headLength)) ?? [];
  if (length === "") return undefined;
  const end = at + headLength + Number.parseInt(length, 16);
  if (bytes[end] !== lineFeed) return undefined;
  const json = bytes.subarray(at + headLength, end);
  return Bun.hash.crc32(json) === Number.parseInt(checksum, 16) ? json : undefined;
}

class ContentReader {
  rows: LedgerRow[] = [];
  unreadable = 0;
  readonly #reserved = new Map<string, ReservedRequest>();

  get reserved(): readonly ReservedRequest[] {
    return [...this.#reserved.values()];
  }

  add(json: Buffer | undefined): void {
    if (!json) {
      this.unreadable++;
      return;
    }
    const { rows = [], reserved, released, stored } = JSON.parse(json.toString()) as OutboxRecord;
    for (const values of rows) this.#addRow(fromValues(values));
    if (reserved) this.#reserved.set(reserved[0], reservedOf(reserved));
    if (released !== undefined) this.#reserved.delete(released);
    // If the row of the marker was in a damaged record, nothing is dropped: storing a row again changes nothing.
    if (stored !== undefined)
      this.rows.splice(0, this.rows.findIndex(({ requestId }) => requestId === stored) + 1);
  }

  #addRow(row: LedgerRow): void {
    if (!isCompleteRow(row)) {
      this.unreadable++;
      return;
    }
    this.rows.push(row);
    this.#reserved.delete(row.requestId);
  }
}

const reservedOf = (values: ReservedValues): ReservedRequest => {
  const [requestId, at, endpoint, keyId, model, project, estimate] = values;
  return { requestId, at, endpoint, keyId, model, project, estimate };
};
