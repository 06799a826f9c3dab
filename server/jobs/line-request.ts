/** A line of a job as the pipeline sees it: a request without a connection. The pipeline is passed in. */
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Caller } from "../request/caller.ts";
import { SignalClient } from "../request/deadline.ts";
import type {
  Form,
  FormPart,
  IncomingRequest,
  OutgoingResponse,
  RequestHeaders,
} from "../request/http-types.ts";
import type { JobLineContext } from "../request/job-line.ts";
import type { JobLine } from "./job-kind.ts";

interface LineRequestOptions {
  readonly requestId: string;
  readonly path: string;
  readonly job: JobLine;
  readonly line: JobLineContext;
  /** Aborted when the job is canceled, its time is over, or the gateway stops. */
  readonly signal: AbortSignal;
}

/** Runs a line through the request pipeline. */
export type RunLine = (
  request: Omit<LineRequestOptions, "path">,
  caller: Caller,
) => Promise<OutgoingResponse>;

export const linePaths = {
  embeddings: "/v1/embeddings",
  generations: "/v1/images/generations",
  edits: "/v1/images/edits",
} as const satisfies Record<JobLine["operation"], string>;

function headersOf(
  { tags, idempotency }: JobLine,
  { fingerprint }: JobLineContext,
): RequestHeaders {
  const headers = new Map([["content-type", "application/json"]]);
  if (tags !== undefined) headers.set("vexel-tags", tags);
  if (idempotency && fingerprint !== undefined) headers.set("idempotency-key", idempotency.key);
  return { get: (name) => headers.get(name) ?? null };
}

export class LineRequest extends SignalClient implements IncomingRequest {
  readonly requestId: string;
  readonly method = "POST";
  readonly path: string;
  readonly search = "";
  readonly headers: RequestHeaders;
  /** No client is connected. */
  readonly clientAddress = "";
  readonly publicUrl: string;
  readonly bytesReceived = 0;
  readonly line: JobLineContext;
  readonly #job: JobLine;

  constructor({ requestId, path, job, line, signal }: LineRequestOptions) {
    super(signal);
    this.requestId = requestId;
    this.path = path;
    this.publicUrl = job.publicUrl;
    this.headers = headersOf(job, line);
    this.line = line;
    this.#job = job;
  }

  async json(): Promise<unknown> {
    const { body, refusal } = this.#job;
    if (refusal) throw refusal;
    return body;
  }

  async jsonWithImages(): Promise<unknown> {
    return this.json();
  }

  form(): Promise<Form> {
    throw new GatewayError("internal", "A line of a job has no form.");
  }

  parts(): AsyncIterable<FormPart> {
    throw new GatewayError("internal", "A line of a job has no form.");
  }

  releaseBody(): void {
    // The runner holds the line.
  }
}

/** The body of a response. Its files are deleted when it is closed. */
export const bodyOf = ({ body }: OutgoingResponse) => ({
  body: { [Symbol.asyncIterator]: () => chunksOf(body) },
  close: async (): Promise<void> => {
    if (typeof body === "object" && "close" in body) await body.close(true);
  },
});

async function* chunksOf(body: OutgoingResponse["body"]): AsyncGenerator<BorrowedBytes> {
  if (typeof body === "string") yield Buffer.from(body);
  else if (body instanceof Uint8Array) yield body;
  else if ("open" in body) yield* body.open();
  else for await (const chunk of body) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
}
