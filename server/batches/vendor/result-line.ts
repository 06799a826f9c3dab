/** A line that the batch of a vendor has run: finds the vendor's results of its upstream requests. */
import type { VendorLine } from "../../request/job-line.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../upstream/adapter.ts";
import type { Target } from "../../upstream/contract.ts";
import type { VendorApi } from "./vendor-api.ts";
import { idsOf } from "./vendor-input.ts";
import type { VendorResults } from "./vendor-results.ts";

export class ResultLine implements VendorLine {
  readonly target: Target;
  readonly priceFactor: number;
  readonly #api: VendorApi;
  readonly #results: VendorResults;
  readonly #number: number;
  #isFinal = false;

  /** `number`: the line of the job. */
  constructor(
    paid: Pick<VendorLine, "target" | "priceFactor">,
    api: VendorApi,
    results: VendorResults,
    number: number,
  ) {
    this.target = paid.target;
    this.priceFactor = paid.priceFactor;
    this.#api = api;
    this.#results = results;
    this.#number = number;
  }

  get isFinal(): boolean {
    return this.#isFinal;
  }

  end(): void {
    this.#isFinal = true;
  }

  async responseTo(request: UpstreamRequest, part: string): Promise<UpstreamResponse> {
    const ids = idsOf(this.#api, this.#number, { request, part });
    const found = await this.#results.find(this.#number, ids);
    const failed = found.find(({ status }) => status < 200 || status > 299);
    if (failed) return responseOf(failed.status, failed.body);
    return responseOf(200, this.#api.joinResults(found.map(({ body }) => body)));
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
