/**
 * The results of a vendor's batch: downloaded into the file store, and found by the number of their line. The vendor's
 * order does not matter.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { serveOthers } from "../../lib/tasks.ts";
import type { FileStore, FoundFile } from "../../storage/ports/file-store.ts";
import { asObject } from "../../upstream/adapters/wire/members.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
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
const lineFeed = 10;
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
    for await (const { from, text } of linesOf(file.read())) {
      const result = this.#read(text);
      if (result) this.#add(result.id, { from, to: from + text.length });
      bytes += text.length;
      if (bytes < bytesPerTurn) continue;
      bytes = 0;
      await serveOthers();
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

  #read(line: Uint8Array): VendorResult | undefined {
    let value: unknown;
    try {
      value = JSON.parse(Buffer.from(line).toString());
    } catch {
      return undefined;
    }
    const fields = asObject(value);
    return fields && this.#api.readResult(fields);
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
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#file?.read(from, to) ?? []) chunks.push(chunk);
    const result = this.#read(Buffer.concat(chunks));
    if (result) return result;
    throw new GatewayError("storage_unavailable", "The results of the batch cannot be read.");
  }
}

async function* linesOf(chunks: AsyncIterable<Uint8Array>) {
  let from = 0;
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      parts.push(chunk.subarray(start, end));
      const text = Buffer.concat(parts);
      if (text.length > 0) yield { from, text };
      from += text.length + 1;
      [parts, length] = [[], 0];
      start = end + 1;
    }
    const rest = Uint8Array.from(chunk.subarray(start));
    length += rest.length;
    if (length > maxLineBytes) throw invalidResponse("a line of the results is too long");
    parts.push(rest);
  }
  const text = Buffer.concat(parts);
  if (text.length > 0) yield { from, text };
}
