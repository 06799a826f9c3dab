/**
 * The results of a vendor's batch: downloaded into the file store, and found by the number of their line. The vendor's
 * order does not matter.
 */
import { copyAll } from "../../lib/borrowed-bytes.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { nextTurn } from "../../lib/tasks.ts";
import type { FileStore, FoundFile } from "../../storage/ports/file-store.ts";
import { asObject } from "../../upstream/adapters/wire/members.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { splitLines } from "../split-lines.ts";
import type { VendorApi, VendorResult } from "./vendor-api.ts";

/** Where a result is in the file. */
interface Position {
  readonly from: number;
  readonly to: number;
  /** There are several results with the same id. */
  isRepeated?: true;
}

/** Longer than the response to any request. */
const maxLineBytes = 512 * 1024 * 1024;
/** Other requests are served after this many bytes. */
const bytesPerTurn = 256 * 1024;

export class VendorResults {
  readonly #file: FoundFile | undefined;
  readonly #api: VendorApi;
  /** By line of the job, then by id. */
  readonly #positions = new Map<number, Map<string, Position>>();

  private constructor(file: FoundFile | undefined, api: VendorApi) {
    this.#file = file;
    this.#api = api;
  }

  /** `download`: the chunks of all files of results. It is called once, also if the process is restarted. */
  static async open(
    files: FileStore,
    name: string,
    api: VendorApi,
    download: () => AsyncIterable<Uint8Array>,
  ): Promise<VendorResults> {
    let file = await files.find(name);
    if (!file) {
      await files.write(name, download());
      file = await files.find(name);
    }
    const results = new VendorResults(file, api);
    if (file) await results.#index(file);
    return results;
  }

  async #index(file: FoundFile): Promise<void> {
    let bytes = 0;
    for await (const line of splitLines(file.read(), 0, maxLineBytes)) {
      if (!line.bytes) throw invalidResponse("a line of the results is too long");
      const result = this.#read(line.bytes);
      const from = line.position;
      if (result) this.#add(result.id, { from, to: from + line.length });
      bytes += line.length;
      if (bytes < bytesPerTurn) continue;
      bytes = 0;
      await nextTurn();
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

  #read(line: Buffer): VendorResult | undefined {
    let value: unknown;
    try {
      value = JSON.parse(line.toString());
    } catch {
      return undefined;
    }
    const fields = asObject(value);
    return fields && this.#api.readResult(fields);
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
    const result = this.#read(await copyAll(this.#file?.read(from, to) ?? []));
    if (result) return result;
    throw new GatewayError("storage_unavailable", "The results of the batch cannot be read.");
  }
}
