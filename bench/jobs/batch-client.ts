/** A client of batches: uploads lines in parts, creates a batch, waits for its end and verifies its results. */
import { key } from "./figures.ts";

export interface Batch {
  readonly id: string;
  readonly status: string;
  readonly request_counts: {
    readonly total: number;
    readonly completed: number;
    readonly failed: number;
  };
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly errors: unknown;
}

export type Endpoint = "/v1/embeddings" | "/v1/images/generations";

const headers = { authorization: `Bearer ${key}` };
const ended = ["completed", "failed", "expired", "cancelled"];
/** Below the 64 MiB of a part. */
const partBytes = 32 * 2 ** 20;
const linesPerChunk = 10_000;

/** `url`: of the gateway that is asked at the moment, as it may change its port. */
export class BatchClient {
  readonly #url: () => string;

  constructor(url: () => string) {
    this.#url = url;
  }

  async #call<T>(path: string, body?: unknown): Promise<T> {
    const isForm = body instanceof FormData;
    const response = await fetch(`${this.#url()}/v1/${path}`, {
      ...(body !== undefined && { method: "POST" }),
      headers: { ...headers, ...(!isForm && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Returns the id of the file. `line`: the body of the request of a line. */
  async upload(
    lines: number,
    endpoint: Endpoint,
    bodyOf: (line: number) => unknown,
  ): Promise<string> {
    const lineOf = (line: number): string =>
      `${JSON.stringify({ custom_id: `line-${line}`, method: "POST", url: endpoint, body: bodyOf(line) })}\n`;
    const bytes = sizeOf(lines, lineOf);
    const upload = await this.#call<{ id: string }>("uploads", {
      bytes,
      filename: "lines.jsonl",
      mime_type: "application/jsonl",
      purpose: "batch",
    });
    const parts: string[] = [];
    for (const part of partsOf(lines, lineOf)) {
      const form = new FormData();
      form.set("data", new Blob([part]));
      parts.push((await this.#call<{ id: string }>(`uploads/${upload.id}/parts`, form)).id);
    }
    const { file } = await this.#call<{ file: { id: string } }>(`uploads/${upload.id}/complete`, {
      part_ids: parts,
    });
    return file.id;
  }

  create(file: string, endpoint: Endpoint): Promise<Batch> {
    return this.#call("batches", {
      input_file_id: file,
      endpoint,
      completion_window: "24h",
    });
  }

  /** Undefined if the gateway does not respond. */
  async find(id: string): Promise<Batch | undefined> {
    try {
      return await this.#call<Batch>(`batches/${id}`);
    } catch {
      return undefined;
    }
  }

  async cancel(id: string): Promise<void> {
    await this.#call(`batches/${id}/cancel`, {});
  }

  /** Waits until the batch is running, or has ended. */
  async started(id: string): Promise<void> {
    while ((await this.find(id))?.status === "validating") await Bun.sleep(100);
  }

  async end(id: string, onProgress: (batch: Batch) => void = () => undefined): Promise<Batch> {
    for (;;) {
      const batch = await this.find(id);
      if (batch) onProgress(batch);
      if (batch && ended.includes(batch.status)) return batch;
      await Bun.sleep(250);
    }
  }

  /** Reads both files of results. Returns what is wrong with them, by lines and `request_counts`. */
  async verify(batch: Batch, lines: number): Promise<readonly string[]> {
    const seen = new Uint8Array(lines);
    const counts = { output: 0, error: 0 };
    for (const kind of ["output", "error"] as const) {
      const file = batch[`${kind}_file_id`];
      if (file === null) continue;
      const { body } = await fetch(`${this.#url()}/v1/files/${file}/content`, { headers });
      if (!body) throw new Error("a file has no content");
      for await (const number of lineNumbers(body)) {
        counts[kind]++;
        seen[number] = Math.min(2, (seen[number] ?? 0) + 1);
      }
    }
    const { total, completed, failed } = batch.request_counts;
    const missing = seen.filter((times) => times === 0).length;
    const repeated = seen.filter((times) => times === 2).length;
    const problems: string[] = [];
    if (batch.status !== "completed")
      problems.push(`${batch.status} ${JSON.stringify(batch.errors)}`);
    if (missing > 0) problems.push(`${missing} lines are missing`);
    if (repeated > 0) problems.push(`${repeated} lines occur twice`);
    if (total !== lines || completed !== counts.output || failed !== counts.error)
      problems.push(
        `request_counts are ${JSON.stringify(batch.request_counts)}, and the files have ${JSON.stringify(counts)}`,
      );
    return problems;
  }
}

function sizeOf(lines: number, lineOf: (line: number) => string): number {
  let bytes = 0;
  for (let line = 0; line < lines; line++) bytes += lineOf(line).length;
  return bytes;
}

function* partsOf(lines: number, lineOf: (line: number) => string): Generator<string> {
  let part = "";
  for (let from = 0; from < lines; from += linesPerChunk) {
    const to = Math.min(lines, from + linesPerChunk);
    for (let line = from; line < to; line++) part += lineOf(line);
    if (part.length < partBytes - 2 ** 22) continue;
    yield part;
    part = "";
  }
  if (part !== "") yield part;
}

/** The numbers of the lines of a file of results. */
async function* lineNumbers(content: AsyncIterable<Uint8Array>): AsyncGenerator<number> {
  const text = new TextDecoder();
  let rest = "";
  for await (const chunk of content) {
    const lines = (rest + text.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield Number(/"custom_id":"line-(\d+)"/.exec(line)?.[1]);
  }
  if (rest !== "") throw new Error("the last line of a file of results has no end");
}
