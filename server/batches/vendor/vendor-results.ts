/**
 * The results of a vendor's batch: downloaded into the file store, and found by the number of their line. The vendor's
 * order does not matter. A line with a result runs with it in place of the response to what was sent.
 */
import { copyAll } from "../../lib/borrowed-bytes.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Turns } from "../../lib/turns.ts";
import type { VendorLine } from "../../request/job-line.ts";
import type { FileStore, FoundFile } from "../../storage/ports/file-store.ts";
import type { UpstreamResponse } from "../../upstream/adapter.ts";
import { asObject } from "../../upstream/adapters/wire/members.ts";
import type { Target } from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { parseVectorsJson } from "../../upstream/parse-vectors-json.ts";
import { splitLines } from "../read-lines.ts";
import type { SentLine, SentRequest, SentTo } from "./sent-requests.ts";
import type { JsonObject, VendorApi, VendorEndpoint, VendorResult } from "./vendor-api.ts";

/** Where a result is in the file. */
interface Position {
  readonly from: number;
  readonly to: number;
  /** There are several results with the same id. */
  isRepeated?: true;
}

/** Longer than the response to any request. */
const maxLineBytes = 512 * 1024 * 1024;
/** Lines that are blank or no JSON: as many as a vendor's batch may have results. */
const maxOtherLines = 100_000;

export class VendorResults {
  readonly #file: FoundFile | undefined;
  readonly #api: VendorApi;
  /** By line of the job, then by id. */
  readonly #positions = new Map<number, Map<string, Position>>();

  private constructor(file: FoundFile | undefined, api: VendorApi) {
    this.#file = file;
    this.#api = api;
  }

  /**
   * `download`: the chunks of all files of results. It is called once, also if the process is restarted. Throws
   * GatewayError if the file is not one of results.
   */
  static async open(
    files: FileStore,
    name: string,
    api: VendorApi,
    download: () => AsyncIterable<Uint8Array>,
    turns: Turns,
  ): Promise<VendorResults> {
    let file = await files.find(name);
    if (!file) {
      await files.write(name, download());
      file = await files.find(name);
    }
    const results = new VendorResults(file, api);
    if (file) await results.#index(file, turns);
    return results;
  }

  async #index(file: FoundFile, turns: Turns): Promise<void> {
    let others = 0;
    const lines = splitLines(file.read(), { position: 0, maxBytes: maxLineBytes, turns });
    for await (const { bytes, position: from, length } of lines) {
      if (!bytes) throw invalidResponse("a line of the results is too long");
      const fields = await fieldsOf(bytes);
      const result = fields && this.#api.readResult(fields);
      if (result) this.#add(result.id, { from, to: from + length });
      if (!fields && ++others > maxOtherLines)
        throw invalidResponse(
          `more than ${maxOtherLines} lines of the results are no JSON objects`,
        );
    }
  }

  #add(id: string, position: Position): void {
    const line = Number.parseInt(id, 10);
    const known = this.#positions.get(line) ?? new Map<string, Position>();
    this.#positions.set(line, known);
    const earlier = known.get(id);
    if (earlier) earlier.isRepeated = true;
    else known.set(id, position);
  }

  /** The number of lines of the job that have a result. */
  get lines(): number {
    return this.#positions.size;
  }

  /** Whether the vendor has a result for the line of the job. */
  has(line: number): boolean {
    return this.#positions.has(line);
  }

  /** The results with these ids, all of one line. Throws GatewayError if one is missing, or occurs twice. */
  async find(line: number, ids: readonly string[]): Promise<readonly VendorResult[]> {
    const known = this.#positions.get(line);
    return Promise.all(
      ids.map(async (id) => {
        const position = known?.get(id);
        if (!position) throw invalidResponse("the vendor's batch has no result for it");
        if (position.isRepeated) throw invalidResponse("the vendor's batch has two results for it");
        return this.#resultAt(position);
      }),
    );
  }

  async #resultAt({ from, to }: Position): Promise<VendorResult> {
    const fields = await fieldsOf(await copyAll(this.#file?.read(from, to) ?? []));
    const result = fields && this.#api.readResult(fields);
    if (result) return result;
    throw new GatewayError("storage_unavailable", "The results of the batch cannot be read.");
  }
}

/** A line with many vectors is parsed in steps. Undefined if it is blank, or no JSON object. */
async function fieldsOf(line: Buffer): Promise<JsonObject | undefined> {
  if (line.length === 0) return undefined;
  try {
    return asObject((await parseVectorsJson(line)).value);
  } catch {
    return undefined;
  }
}

/** Of one file of results. It is written to disk as it arrives. */
const maxResultBytes = 16 * 1024 ** 3;

export async function* download(
  api: VendorApi,
  endpoint: VendorEndpoint,
  fileIds: readonly string[],
): AsyncGenerator<Uint8Array> {
  for (const fileId of fileIds) {
    const response = await endpoint.send({
      url: api.fileUrl(endpoint, fileId),
      headers: endpoint.headers,
      streams: true,
      fileBytes: maxResultBytes,
    });
    yield* response.chunks();
    yield Buffer.from("\n");
  }
}

/** What all lines of a vendor's batch share when their results are delivered. */
export interface Delivery extends SentTo {
  readonly upstream: Target["upstream"];
  /** When the vendor's batch ended, in Unix milliseconds. */
  readonly at: number;
  readonly api: VendorApi;
  readonly results: VendorResults;
  /** Charges the estimate of the line, and returns it in US dollars. Undefined if it is unknown. */
  readonly chargeEstimate: (line: SentLine, error: GatewayError) => Promise<number | undefined>;
}

export class ResultLine implements VendorLine {
  readonly target: Target;
  readonly priceFactor: number;
  readonly at: number;
  readonly model: VendorLine["model"];
  readonly #options: Delivery;
  readonly #line: SentLine;
  isFinal = false;

  constructor(options: Delivery, line: SentLine) {
    const { target, upstream, priceFactor, at, model } = options;
    this.target = { ...target, upstream };
    this.priceFactor = priceFactor;
    this.at = at;
    this.model = model;
    this.#options = options;
    this.#line = line;
  }

  end(): void {
    this.isFinal = true;
  }

  get requests(): readonly SentRequest[] {
    return this.#line.requests;
  }

  chargeEstimate(error: GatewayError): Promise<number | undefined> {
    return this.#options.chargeEstimate(this.#line, error);
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
