/** Writes the input file of a vendor's batch: the upstream requests of the lines, as the vendor's adapter writes them. */
import { createHash } from "node:crypto";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { UpstreamRequest } from "../../upstream/adapter.ts";
import { asObject } from "../../upstream/adapters/wire/members.ts";
import type { JsonObject, VendorApi } from "./vendor-api.ts";

/** The lines cannot be one batch of the vendor. */
export class VendorRefusal extends Error {
  override readonly name = "VendorRefusal";
}

/** One of the upstream requests of a line. */
export interface PlannedRequest {
  readonly request: UpstreamRequest;
  /** Which part of the line it is, from `partOf`. */
  readonly part: string;
}

export interface PlannedLine {
  /** Empty: all inputs are cached. */
  readonly requests: readonly PlannedRequest[];
  /** The estimated cost in US dollars, in a batch of the vendor. Null: unknown. */
  readonly dollars: number | null;
}

interface NumberedLine {
  /** The line of the job. */
  readonly number: number;
}

export class VendorInput {
  readonly #api: VendorApi;
  readonly #path: string;
  /** Lines that are not part of the vendor's batch: they are cached or invalid. */
  readonly skipped: number[] = [];
  /** The estimated cost in US dollars. Null: unknown. */
  dollars: number | null = 0;
  #shared: string | undefined;
  /** Lines of the vendor's input file. */
  #count = 0;

  /** `path`: that of the requests. */
  constructor(api: VendorApi, path: string) {
    this.#api = api;
    this.#path = path;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** What all requests share. */
  get shared(): JsonObject {
    return JSON.parse(this.#shared ?? "{}") as JsonObject;
  }

  /**
   * `lines`: other requests are served while they are read. `plan` throws GatewayError if the line is invalid. Throws
   * VendorRefusal.
   */
  async *write<L extends NumberedLine>(
    lines: AsyncIterable<L>,
    plan: (line: L) => Promise<PlannedLine>,
  ): AsyncGenerator<Uint8Array> {
    for await (const line of lines) {
      const { requests, dollars } = await plan(line).catch(noneIfInvalid);
      if (requests.length === 0) this.skipped.push(line.number);
      else this.#addCost(dollars);
      for (const planned of requests) yield* this.#linesOf(line.number, planned);
    }
  }

  #addCost(dollars: number | null): void {
    this.dollars = this.dollars === null || dollars === null ? null : this.dollars + dollars;
  }

  *#linesOf(line: number, { request, part }: PlannedRequest): Generator<Uint8Array> {
    const body = bodyOf(request);
    const shared = JSON.stringify(this.#api.sharedOf(body));
    this.#shared ??= shared;
    if (shared !== this.#shared)
      throw new VendorRefusal(
        "The lines differ in their model or their options, which the vendor takes once for all lines of a batch.",
      );
    for (const vendorLine of this.#api.linesOf(idOf(line, part), body, this.#path)) {
      this.#count++;
      yield Buffer.from(`${JSON.stringify(vendorLine)}\n`);
    }
  }
}

/** An invalid line is not part of the vendor's batch. It fails when it runs. */
function noneIfInvalid(error: unknown): PlannedLine {
  if (error instanceof GatewayError) return { requests: [], dollars: 0 };
  throw error;
}

/** The ids of the lines of the vendor's input file for one request. */
export const idsOf = (
  api: VendorApi,
  line: number,
  { request, part }: PlannedRequest,
): readonly string[] =>
  api
    .linesOf(idOf(line, part), bodyOf(request), "")
    .map(({ custom_id: id, key }) => String(id ?? key));

const idOf = (line: number, part: string): string => `${line}-${part}`;

/**
 * The position of a request in its line, and a hash of its inputs: a result is never read as the response to other
 * inputs, also if the line is split or decoded in another way when its results are read. What the adapter writes is not
 * in it, because a later version, or other options, may write the same request differently.
 */
export const partOf = (position: number, inputs: unknown): string =>
  `${position}-${createHash("sha256").update(JSON.stringify(inputs)).digest("hex").slice(0, 16)}`;

const bodyOf = (request: UpstreamRequest): JsonObject =>
  asObject(JSON.parse(textOf(request))) ?? {};

function textOf({ body }: UpstreamRequest): string {
  if (typeof body === "string") return body;
  if (body && "text" in body && typeof body.text === "function") return String(body.text());
  throw new VendorRefusal("The vendor's batches take texts only.");
}
