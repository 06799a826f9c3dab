/**
 * The requests of a vendor's batch, in a file beside its input: each request as the vendor got it, and once the target,
 * model and price with which the results are read and charged. Results come hours later: a configuration or price that
 * has changed since does not apply to them.
 */
import type { ErrorKind } from "../../../contract/errors.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Turns } from "../../lib/turns.ts";
import type { PermittedModel } from "../../request/caller.ts";
import type { FileStore } from "../../storage/ports/file-store.ts";
import type { LineReservation } from "../../storage/sql/stored-job.ts";
import type { EmbeddingsQuery, GenerationQuery, Target } from "../../upstream/contract.ts";
import { splitLines } from "../read-lines.ts";

/** One upstream request of a line. */
export interface SentRequest {
  /** The vendor's ids of its results. */
  readonly ids: readonly string[];
  /** As the adapter wrote it. */
  readonly query: EmbeddingsQuery | GenerationQuery;
}

/** A line of the batch that the vendor runs. */
export interface SentLine {
  /** The line of the job. */
  readonly number: number;
  readonly requests: readonly SentRequest[];
  /** The estimated cost in nano-dollars, in a batch of the vendor. Null if unknown. */
  readonly nanos: number | null;
  /** The upper bound of the cost. If absent, the same. */
  readonly maxNanos?: number;
  /** The end user and the tags in whose budgets it is reserved, as in ledger rows. */
  readonly labels: string | null;
  /** As in ledger rows. If absent, the line has none. */
  readonly endUser?: string;
  readonly tags?: string;
}

/** A line that was not sent, because the budget of its end user or of a tag is too small. */
interface RefusedLine {
  readonly number: number;
  readonly refused: { readonly kind: ErrorKind; readonly message: string };
}

/** What is reserved for the line in the budgets. Null if its cost is unknown. `isLikely`: for the range. */
export function reservedFor(
  { nanos, maxNanos = nanos ?? 0, labels }: Omit<SentLine, "requests">,
  isLikely: boolean,
): LineReservation | undefined {
  return nanos === null ? undefined : { nanos: isLikely ? nanos : maxNanos, labels };
}

/** What all lines share. */
export interface SentTo {
  /** With the prices of that time. */
  readonly target: Omit<Target, "upstream">;
  readonly priceFactor: number;
  readonly model: Pick<PermittedModel, "known" | "dimensions" | "tokenArrays" | "parameters">;
}

export const sentToOf = (
  { upstream: _, ...target }: Target,
  priceFactor: number,
  { known, dimensions, tokenArrays, parameters }: PermittedModel,
): SentTo => ({
  target,
  priceFactor,
  model: {
    ...(known && { known }),
    ...(dimensions !== undefined && { dimensions }),
    ...(tokenArrays && { tokenArrays }),
    ...(parameters && { parameters }),
  },
});

/** Writes the file while the input of the batch is written. */
export class SentRequestsWriter {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #stored: Promise<number>;

  constructor(files: FileStore, name: string, sentTo: SentTo) {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.#writer = writable.getWriter();
    this.#stored = files.write(name, readable);
    // `close` and `add` report it.
    this.#stored.catch((error: unknown) => this.#writer.abort(error).catch(() => undefined));
    void this.#write(sentTo).catch(() => undefined);
  }

  add(line: SentLine | RefusedLine): Promise<void> {
    return this.#write(line);
  }

  async close(): Promise<void> {
    await this.#writer.close().catch(() => undefined);
    await this.#stored;
  }

  /** The file is not stored. Never rejects. */
  async discard(): Promise<void> {
    await this.#writer.abort(new Error("discarded")).catch(() => undefined);
    await this.#stored.catch(() => undefined);
  }

  async #write(value: unknown): Promise<void> {
    try {
      await this.#writer.write(Buffer.from(`${JSON.stringify(value)}\n`));
    } catch {
      // Why the file could not be stored.
      await this.#stored;
      throw new GatewayError("internal", "The requests of the batch could not be written.");
    }
  }
}

/** Reads the file, whose lines are in the order of the lines of the job. */
export class SentRequests {
  readonly sentTo: SentTo;
  readonly #lines: AsyncIterator<Buffer | undefined>;
  /** The next line of the file. */
  #next: SentLine | RefusedLine | undefined;

  private constructor(sentTo: SentTo, lines: AsyncIterator<Buffer | undefined>) {
    this.sentTo = sentTo;
    this.#lines = lines;
  }

  /** Throws GatewayError if the file is missing. */
  static async open(files: FileStore, name: string, turns: Turns): Promise<SentRequests> {
    const found = await files.find(name);
    if (!found) throw missing();
    const lines = bytesOf(splitLines(found.read(), { position: 0, maxBytes, turns }));
    const { value: head } = await lines.next();
    if (!head) throw missing();
    const requests = new SentRequests(JSON.parse(head.toString()) as SentTo, lines);
    await requests.#advance();
    return requests;
  }

  /** Undefined if the line was not sent. To be called with ascending numbers. */
  async find(number: number): Promise<SentLine | GatewayError | undefined> {
    while (this.#next && this.#next.number < number) await this.#advance();
    if (this.#next?.number !== number) return undefined;
    const found = this.#next;
    return "refused" in found ? new GatewayError(found.refused.kind, found.refused.message) : found;
  }

  async close(): Promise<void> {
    await this.#lines.return?.();
  }

  async #advance(): Promise<void> {
    const { value } = await this.#lines.next();
    this.#next = value && (JSON.parse(value.toString()) as SentLine | RefusedLine);
  }
}

/** Longer than any request. */
const maxBytes = 512 * 1024 * 1024;

async function* bytesOf(lines: ReturnType<typeof splitLines>): AsyncGenerator<Buffer | undefined> {
  for await (const { bytes } of lines) if (bytes && bytes.length > 0) yield bytes;
}

const missing = (): GatewayError =>
  new GatewayError("storage_unavailable", "The requests of the batch are missing.");
