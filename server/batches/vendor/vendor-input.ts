/**
 * Writes the input file of a vendor's batch: the upstream requests of the lines, as the vendor's adapter writes them.
 */
import { type BudgetedOwner, endUsersAndTagsText } from "../../../contract/limits-and-budgets.ts";
import { noReservation, withLine } from "../../jobs/job-budget.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { RangeReservation } from "../../storage/sql/stored-job.ts";
import type { UpstreamRequest } from "../../upstream/adapter.ts";
import { asObject } from "../../upstream/adapters/wire/members.ts";
import {
  reservedFor,
  type SentLine,
  type SentRequest,
  type SentRequestsWriter,
} from "./sent-requests.ts";
import type { JsonObject, VendorApi } from "./vendor-api.ts";

/** One of the upstream requests of a line. */
export interface PlannedRequest extends Pick<SentRequest, "query"> {
  readonly request: UpstreamRequest;
}

export interface PlannedLine extends Pick<SentLine, "nanos" | "maxNanos" | "endUser" | "tags"> {
  /** In the order of their inputs. Empty: all inputs are cached. */
  readonly requests: readonly PlannedRequest[];
  /** Of the end user and the tags of the line. */
  readonly endUserAndTagBudgets: readonly BudgetedOwner[];
}

interface NumberedLine {
  /** The line of the job. */
  readonly number: number;
}

export class VendorInput {
  readonly #api: VendorApi;
  readonly #path: string;
  /** The price of every line is known. */
  isCertain = true;
  /** What is to be reserved for the lines with a known price: the upper bound, or the likely cost. */
  maximum: RangeReservation = noReservation;
  likely: RangeReservation = { ...noReservation, isLikely: true };
  /** Why the lines cannot be one batch of the vendor. Undefined if they can. */
  refusal: string | undefined;
  /** Why the batch is to be sent later. Undefined if it can be sent now. */
  delay: GatewayError | undefined;
  readonly #mayWait: boolean;
  #shared: string | undefined;
  /** Lines of the vendor's input file. */
  #count = 0;

  /** `path`: that of the requests. */
  /** `mayWait`: a line whose end user or tag has no room for now delays the batch. Otherwise it fails alone. */
  constructor(api: VendorApi, path: string, mayWait = true) {
    this.#api = api;
    this.#path = path;
    this.#mayWait = mayWait;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** What all requests share. */
  get shared(): JsonObject {
    return JSON.parse(this.#shared ?? "{}") as JsonObject;
  }

  /**
   * `lines`: other requests are served while they are read. `plan` throws GatewayError if the line is invalid, or if it
   * does not fit into the budget of its end user or of a tag. `sent`: what is written of each line. Ends early if the
   * lines cannot be one batch, or not now.
   */
  async *write<L extends NumberedLine>(
    lines: AsyncIterable<L>,
    plan: (line: L) => Promise<PlannedLine>,
    sent: Pick<SentRequestsWriter, "add">,
  ): AsyncGenerator<Uint8Array> {
    for await (const line of lines) {
      const { number } = line;
      const planned = await plan(line).catch(errorOfLine);
      if (planned instanceof GatewayError) {
        await this.#addRefused(number, planned, sent);
        if (this.delay) return;
        continue;
      }
      const { requests, endUserAndTagBudgets, ...estimated } = planned;
      if (requests.length === 0) continue;
      const labels = endUsersAndTagsText(endUserAndTagBudgets);
      const unsent = { number, ...estimated, labels };
      this.#reserve(unsent);
      const written: SentRequest[] = [];
      for (const [at, { request, query }] of requests.entries()) {
        const vendorLines = this.#linesOf(`${number}-${at}`, request);
        if (!vendorLines) return;
        written.push({ ids: vendorLines.map(idOf), query });
        yield* vendorLines.map((vendorLine) => Buffer.from(`${JSON.stringify(vendorLine)}\n`));
      }
      await sent.add({ ...unsent, requests: written });
    }
  }

  /** A line that does not fit into a budget fails alone. Any other invalid line fails when it runs. */
  async #addRefused(
    number: number,
    error: GatewayError,
    sent: Pick<SentRequestsWriter, "add">,
  ): Promise<void> {
    const { kind, message, definition } = error;
    if (kind !== "over_budget") return;
    if (this.#mayWait && definition.retry === "later") this.delay = error;
    else await sent.add({ number, refused: { kind, message } });
  }

  #reserve(line: Omit<SentLine, "requests">): void {
    const [maximum, likely] = [reservedFor(line, false), reservedFor(line, true)];
    if (!maximum || !likely) {
      this.isCertain = false;
      return;
    }
    this.maximum = withLine(this.maximum, maximum);
    this.likely = withLine(this.likely, likely);
  }

  #linesOf(id: string, request: UpstreamRequest): readonly JsonObject[] | undefined {
    const text = textOf(request);
    if (text === undefined) {
      this.refusal = "The vendor's batches take texts only.";
      return undefined;
    }
    const body = asObject(JSON.parse(text)) ?? {};
    const shared = JSON.stringify(this.#api.sharedOf(body));
    this.#shared ??= shared;
    if (shared !== this.#shared) {
      this.refusal =
        "The lines differ in their model or their options, which the vendor takes once for all lines of a batch.";
      return undefined;
    }
    const vendorLines = this.#api.linesOf(id, body, this.#path);
    this.#count += vendorLines.length;
    return vendorLines;
  }
}

function errorOfLine(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  throw error;
}

/** The id by which the vendor's result is found. */
const idOf = ({ custom_id: id, key }: JsonObject): string => String(id ?? key);

/** Undefined if the body is no text. */
function textOf({ body }: UpstreamRequest): string | undefined {
  if (typeof body === "string") return body;
  if (body && "text" in body && typeof body.text === "function") return String(body.text());
  return undefined;
}
