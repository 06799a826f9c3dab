/**
 * Stores prompts, inputs, vectors and images of a request whose model has `storeContent`. The response is copied while
 * it is sent. A failure is logged, the content is deleted, and the client gets the response unchanged.
 */
import type { ContentFile } from "../../contract/admin.ts";
import { splitInlineImage } from "../lib/url-scheme.ts";
import type { LimitedQuery } from "../limits/request-demand.ts";
import { type BodyEnd, contentEnd, contentLine } from "../request/content-format.ts";
import type { OutgoingResponse, StreamChunk, StreamedResponseBody } from "../request/http-types.ts";
import type {
  EditQuery,
  EmbeddingInput,
  FilePart,
  ImageSource,
  InputPart,
  MixedInput,
} from "../upstream/contract.ts";
import { editSources } from "../upstream/edit-sources.ts";

/**
 * The maximum size of the stored content of one request: larger files are left out, and a larger body is not stored.
 */
const maxContentBytes = 16 * 1024 * 1024;

interface ContentWriter {
  append(chunk: StreamChunk): void;
  commit(): void;
  discard(): void;
}

export interface ContentRecording {
  begin(model: string, requestId: string): ContentWriter;
  /** Logs content that could not be stored. */
  readonly onNotStored: (requestId: string, error: unknown) => void;
}

export class RecordedContent {
  readonly #requestId: string;
  readonly #recording: ContentRecording;
  #writer: ContentWriter | undefined;
  #bytes = 0;
  #isTooLarge = false;

  constructor(recording: ContentRecording, model: string, requestId: string) {
    this.#recording = recording;
    this.#requestId = requestId;
    this.#try(() => {
      this.#writer = recording.begin(model, requestId);
    });
  }

  async recordRequest(query: LimitedQuery): Promise<void> {
    const { request, uploads } = shownRequest(query);
    const line = contentLine({ kind: "request", value: request });
    const isTooLarge = Buffer.byteLength(line) > maxContentBytes;
    this.#write(
      isTooLarge ? contentLine({ kind: "request", value: { model: query.model } }) : line,
    );
    try {
      for (const { base64, ...file } of uploads) {
        const fits = this.#bytes + (file.size * 4) / 3 <= maxContentBytes;
        const data = fits ? await base64() : null;
        this.#write(contentLine({ kind: "file", value: { ...file, data } }));
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The same response, whose body is copied into the content as it is sent. */
  recordResponse(response: OutgoingResponse): OutgoingResponse {
    if (!this.#writer) return response;
    const { status, headers, body } = response;
    const contentType = headers["content-type"] ?? "";
    this.#write(contentLine({ kind: "response", value: { status, contentType } }));
    if (typeof body === "string" || body instanceof Uint8Array || Array.isArray(body)) {
      for (const chunk of Array.isArray(body) ? body : [body]) this.#copy(chunk);
      this.#end("complete");
      return response;
    }
    if ("open" in body) return { ...response, body: this.#copyStreamed(body) };
    return { ...response, body: this.#copyIterable(body as AsyncIterable<StreamChunk>) };
  }

  discard(): void {
    const writer = this.#writer;
    this.#writer = undefined;
    writer?.discard();
  }

  #copyStreamed(body: StreamedResponseBody): StreamedResponseBody {
    const copy = (chunk: StreamChunk): void => this.#copy(chunk);
    return {
      ...body,
      open: async function* () {
        for await (const chunk of body.open()) {
          copy(chunk);
          yield chunk;
        }
      },
      close: async (isComplete) => {
        this.#end(isComplete ? "complete" : "incomplete");
        await body.close(isComplete);
      },
    };
  }

  /**
   * Not a generator: calling `return` on an unstarted generator would skip `body.return()`, and the request would never
   * settle.
   */
  #copyIterable(body: AsyncIterable<StreamChunk>): AsyncIterable<StreamChunk> {
    const iterator = body[Symbol.asyncIterator]();
    const next = async (): Promise<IteratorResult<StreamChunk>> => {
      try {
        const result = await iterator.next();
        if (result.done) this.#end("complete");
        else this.#copy(result.value);
        return result;
      } catch (error) {
        // A reader calls `return` only on a body that has not failed.
        this.#end("incomplete");
        throw error;
      }
    };
    const end = async (): Promise<IteratorResult<StreamChunk>> => {
      this.#end("incomplete");
      return (await iterator.return?.()) ?? { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
  }

  #copy(chunk: StreamChunk): void {
    this.#isTooLarge ||= this.#bytes + byteLengthOf(chunk) > maxContentBytes;
    if (!this.#isTooLarge) this.#write(chunk);
  }

  #end(end: BodyEnd): void {
    this.#write(contentEnd(this.#isTooLarge ? "too_large" : end));
    this.#try(() => this.#writer?.commit());
    this.#writer = undefined;
  }

  #write(chunk: StreamChunk): void {
    this.#bytes += byteLengthOf(chunk);
    this.#try(() => this.#writer?.append(chunk));
  }

  #try(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.discard();
    this.#recording.onNotStored(this.#requestId, error);
  }
}

const byteLengthOf = (chunk: StreamChunk): number =>
  typeof chunk === "string" ? Buffer.byteLength(chunk) : chunk.length;

interface Upload extends Omit<ContentFile, "data"> {
  base64(): Promise<string>;
}

/** The request under the names of the API, and its images. */
function shownRequest(query: LimitedQuery): {
  readonly request: Readonly<Record<string, unknown>>;
  readonly uploads: readonly Upload[];
} {
  if ("single" in query) {
    const { model, input, single, encoding, dimensions, user, extraFields } = query;
    const { taskType, outputType } = query;
    const inputs = shownInputs(input);
    const fields = {
      encoding_format: encoding,
      dimensions,
      user,
      ...(taskType && { [taskType.field]: taskType.given }),
      ...(outputType && { [outputType.field]: outputType.type }),
    };
    const request = { model, input: single ? inputs[0] : inputs, ...fields, ...extraFields };
    return { request, uploads: input.kind === "mixed" ? inputUploads(input) : [] };
  }
  if (!("prompt" in query)) return { request: { model: query.model }, uploads: [] };
  const { model, prompt, stream, options, extraFields } = query;
  const { images = [], files = [], ...others } = query as Partial<EditQuery>;
  const sources = editSources({ ...others, images });
  const links = sources.flatMap((source) => linkOf(source) ?? []);
  return {
    request: {
      model,
      prompt,
      ...(stream && { stream }),
      ...options,
      ...extraFields,
      ...(links.length > 0 && { images: links }),
    },
    uploads: [...sources.flatMap((source) => uploadOf(source) ?? []), ...files.map(uploadedFile)],
  };
}

function shownInputs(input: EmbeddingInput): readonly unknown[] {
  if (input.kind === "text") return input.texts;
  if (input.kind === "tokens") return input.tokens;
  return input.entries.map(({ parts: [first, ...others] }) => {
    if (first === undefined || first.kind === "tokens") return first?.tokens;
    return { content: [first, ...others].map(shownPart) };
  });
}

function shownPart(part: InputPart): unknown {
  if (part.kind === "text") return { type: "text", text: part.text };
  const link = part.kind === "link" ? linkOf({ kind: "url", url: part.url }) : undefined;
  return { type: "image_url", ...(link !== undefined && { image_url: { url: link } }) };
}

const inputUploads = ({ entries }: MixedInput): readonly Upload[] =>
  entries.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "link" ? (uploadOf({ kind: "url", url: part.url }, part.param) ?? []) : [],
    ),
  );

function linkOf(source: ImageSource): string | undefined {
  if (source.kind === "file_id") return source.id;
  return source.kind === "url" && !splitInlineImage(source.url) ? source.url : undefined;
}

function uploadOf(source: ImageSource, field = "images"): Upload | undefined {
  if (source.kind === "file") return uploadedFile(source.file);
  const inline = source.kind === "url" ? splitInlineImage(source.url) : undefined;
  if (!inline) return undefined;
  const { type, base64 } = inline;
  const size = Math.floor((base64.length * 3) / 4);
  return { field, filename: "", type, size, base64: async () => base64 };
}

const uploadedFile = (file: FilePart): Upload => {
  const { field, filename, type, size } = file;
  const base64 = async () => Buffer.from(await file.bytes()).toString("base64");
  return { field, filename, type, size, base64 };
};
