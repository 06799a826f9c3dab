/** Writes the input file of a vendor's batch: the upstream requests of the lines, as the vendor's adapter writes them. */
import { createHash } from "node:crypto";
import { GatewayError } from "../../lib/gateway-error.ts";
import { nextTurn } from "../../lib/tasks.ts";
import type { UpstreamRequest } from "../../upstream/adapter.ts";
import { asObject } from "../../upstream/adapters/wire/members.ts";
import type { JsonObject, VendorApi } from "./vendor-api.ts";

/** The lines cannot be one batch of the vendor. */
export class VendorRefusal extends Error {
  override readonly name = "VendorRefusal";
}

interface PlannedLine {
  /** The line of the job. */
  readonly line: number;
  /** Empty: all inputs are cached. Throws GatewayError if the line is invalid. */
  plan(): Promise<readonly UpstreamRequest[]>;
}

/** Other requests are served after this many lines. */
const linesPerTurn = 32;

export class VendorInput {
  readonly #api: VendorApi;
  readonly #path: string;
  readonly skipped: number[] = [];
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

  /** Throws VendorRefusal. */
  async *write(lines: AsyncIterable<PlannedLine>): AsyncGenerator<Uint8Array> {
    let read = 0;
    for await (const { line, plan } of lines) {
      const requests = await plan().catch(noneIfInvalid);
      if (requests.length === 0) this.skipped.push(line);
      for (const request of requests) yield* this.#linesOf(line, request);
      if (++read % linesPerTurn === 0) await nextTurn();
    }
  }

  *#linesOf(line: number, request: UpstreamRequest): Generator<Uint8Array> {
    const text = textOf(request);
    const body = asObject(JSON.parse(text)) ?? {};
    const shared = JSON.stringify(this.#api.sharedOf(body));
    this.#shared ??= shared;
    if (shared !== this.#shared)
      throw new VendorRefusal(
        "The lines differ in their model or their options, which the vendor takes once for all lines of a batch.",
      );
    for (const vendorLine of this.#api.linesOf(idOf(line, text), body, this.#path)) {
      this.#count++;
      yield Buffer.from(`${JSON.stringify(vendorLine)}\n`);
    }
  }
}

/** An invalid line is not part of the vendor's batch. It fails when it runs. */
function noneIfInvalid(error: unknown): readonly [] {
  if (error instanceof GatewayError) return [];
  throw error;
}

/** The ids of the lines of the vendor's input file for one request. */
export function idsOf(api: VendorApi, line: number, request: UpstreamRequest): readonly string[] {
  const text = textOf(request);
  const body = asObject(JSON.parse(text)) ?? {};
  return api.linesOf(idOf(line, text), body, "").map(({ custom_id: id, key }) => String(id ?? key));
}

/** The line and a hash of the request: a result is never read as the response to another request. */
const idOf = (line: number, text: string): string =>
  `${line}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;

function textOf({ body }: UpstreamRequest): string {
  if (typeof body === "string") return body;
  if (body && "text" in body && typeof body.text === "function") return String(body.text());
  throw new VendorRefusal("The vendor's batches take texts only.");
}
