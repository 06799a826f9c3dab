/** A line that the batch of a vendor has run: what was sent, and the vendor's results. */
import type { VendorLine } from "../../request/job-line.ts";
import type { UpstreamResponse } from "../../upstream/adapter.ts";
import type { Target } from "../../upstream/contract.ts";
import type { SentLine, SentRequest, SentTo } from "./sent-requests.ts";
import type { VendorApi } from "./vendor-api.ts";
import type { VendorResults } from "./vendor-results.ts";

/** What all lines of a vendor's batch share when their results are delivered. */
export interface Delivery extends SentTo {
  readonly upstream: Target["upstream"];
  /** When the vendor's batch ended, in Unix milliseconds. */
  readonly at: number;
  readonly api: VendorApi;
  readonly results: VendorResults;
}

export class ResultLine implements VendorLine {
  readonly target: Target;
  readonly priceFactor: number;
  readonly at: number;
  readonly model: VendorLine["model"];
  readonly #options: Delivery;
  readonly #line: SentLine;
  #isFinal = false;

  constructor(options: Delivery, line: SentLine) {
    const { target, upstream, priceFactor, at, model } = options;
    this.target = { ...target, upstream };
    this.priceFactor = priceFactor;
    this.at = at;
    this.model = model;
    this.#options = options;
    this.#line = line;
  }

  get isFinal(): boolean {
    return this.#isFinal;
  }

  end(): void {
    this.#isFinal = true;
  }

  get requests(): readonly SentRequest[] {
    return this.#line.requests;
  }

  async responseTo({ ids }: Pick<SentRequest, "ids">): Promise<UpstreamResponse> {
    const { api, results } = this.#options;
    const found = await results.find(this.#line.number, ids);
    const failed = found.find(({ status }) => status < 200 || status > 299);
    if (failed) return responseOf(failed.status, failed.body);
    return responseOf(200, api.joinResults(found.map(({ body }) => body)));
  }
}

function responseOf(status: number, body: unknown): UpstreamResponse {
  const text = JSON.stringify(body ?? null, (_, value) =>
    value instanceof Float32Array ? [...value] : value,
  );
  const bytes = Buffer.from(text);
  return {
    status,
    headers: new Headers({ "content-type": "application/json" }),
    mayReportExhaustedLimit: false,
    json: async () => body,
    jsonWithVectors: async () => body,
    text: async () => text,
    bytes: async () => bytes,
    chunks: async function* () {
      yield bytes;
    },
  };
}
