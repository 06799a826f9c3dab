/**
 * The results of a vendor's batch: downloaded into the file store, and found by the number of their line. The vendor's
 * order does not matter.
 */
import { copyAll } from "../../lib/borrowed-bytes.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Turns } from "../../lib/turns.ts";
import type { FileStore, FoundFile } from "../../storage/ports/file-store.ts";
import { asObject } from "../../upstream/adapters/wire/members.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { parseVectorsJson } from "../../upstream/parse-vectors-json.ts";
import { splitLines } from "../split-lines.ts";
import type { JsonObject, VendorApi, VendorResult } from "./vendor-api.ts";

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

/** A line with many vectors is parsed in steps. Undefined: it is blank, or no JSON object. */
async function fieldsOf(line: Buffer): Promise<JsonObject | undefined> {
  if (line.length === 0) return undefined;
  try {
    return asObject((await parseVectorsJson(line)).value);
  } catch {
    return undefined;
  }
}
