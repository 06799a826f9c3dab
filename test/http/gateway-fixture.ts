/** Shared by HTTP tests: a gateway in front of a fake upstream, assertions on error responses, and raw sockets. */
import { expect } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { type ErrorKind, errorTable } from "../../contract/errors.ts";
import type { RangeCode } from "../../server/lib/out-of-range.ts";
import { type Fake, fakeImage, startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";

export interface GatewayWithFake {
  readonly fake: Fake;
  readonly gateway: TestGateway;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

interface GatewayWithFakeOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly minBodyRate?: number;
  /** Of the image models, such as ` onDisconnect: cancel,`. */
  readonly imageOptions?: string;
  /** More of the configuration file. */
  readonly yaml?: string;
}

export function startGatewayWithFake({
  yaml = "",
  imageOptions = "",
  ...options
}: GatewayWithFakeOptions = {}): GatewayWithFake {
  const fake = startFake();
  const gateway = startGateway({ yaml: `${configFor(fake.url, imageOptions)}${yaml}`, ...options });
  const close = async (): Promise<void> => {
    await gateway.close();
    fake.close();
  };
  return { fake, gateway, close, [Symbol.asyncDispose]: close };
}

export const bearer = { authorization: `Bearer ${testKey}` };
export const embeddingModel = "text-embedding-3-small";
export const imageModel = "gpt-image-2";

export const png = new Uint8Array(
  fakeImage("a small picture", 0, { format: "png", width: 16, height: 16 }),
);

interface ErrorMembers {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** The form of an image edit. */
export function editForm(image = png, model = imageModel): FormData {
  const form = new FormData();
  form.append("model", model);
  form.append("prompt", "a hat");
  form.append("image", new Blob([image]), "a.png");
  return form;
}

/**
 * Expects exactly this error: status, type and code of the error table, the four members of OpenAI, and a request id.
 * `kind`: the code for a value out of its bounds, whose kind is `invalid_value`.
 */
export async function expectError(
  response: Response | RawResponse,
  kind: ErrorKind | RangeCode,
  param: string | null = null,
): Promise<string> {
  const text = response instanceof Response ? await response.text() : response.body;
  const { status, type, code } =
    kind in errorTable
      ? errorTable[kind as ErrorKind]
      : { ...errorTable.invalid_value, code: kind };
  expect(response.status, text).toBe(status);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("x-request-id")).toMatch(/^req_[0-9a-f]{32}$/);
  const { error, ...others } = JSON.parse(text) as { error: ErrorMembers };
  expect(others).toEqual({});
  // `i18n`: of errors of the admin API.
  const members = Object.keys(error).filter((name) => name !== "i18n");
  expect(members.sort()).toEqual(["code", "message", "param", "type"]);
  expect({ type: error.type, code: error.code, param: error.param }, text).toEqual({
    type,
    code,
    param,
  });
  expect(error.message).toBeString();
  expect(error.message).not.toBe("");
  return error.message;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** A raw connection that sends any bytes at any pace. */
export class RawConnection {
  readonly #socket: Socket;
  readonly closed: Promise<void>;
  /** Joined when they are read: joining at each arrival would copy a large response again and again. */
  #chunks: Buffer[] = [];
  #receivedBytes = 0;
  /** The length of the next response, once its head has arrived. */
  #responseBytes = 0;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => {
      this.#chunks.push(bytes);
      this.#receivedBytes += bytes.length;
    });
    // The test decides what a broken connection means.
    socket.on("error", () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on("close", () => {
        this.#isClosed = true;
        resolve();
      });
    });
  }

  /** Connects, and sends these blocks. */
  static open(url: string, ...blocks: readonly (string | Uint8Array)[]): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      socket.setNoDelay(true);
      socket.once("error", reject);
      socket.once("connect", () => {
        const connection = new RawConnection(socket);
        connection.send(...blocks);
        resolve(connection);
      });
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Bytes that were received and not read as a response. */
  get received(): string {
    return this.#received().toString("latin1");
  }

  send(...blocks: readonly (string | Uint8Array)[]): void {
    for (const block of blocks) if (!this.#isClosed) this.#socket.write(block);
  }

  /** With backpressure, for more bytes than a socket buffers. */
  async sendAll(block: Uint8Array): Promise<void> {
    if (this.#isClosed || this.#socket.write(block)) return;
    await Promise.race([
      new Promise<void>((resolve) => this.#socket.once("drain", resolve)),
      this.closed,
    ]);
  }

  /** The next whole response, by its content-length. */
  async response({ to = "GET", ms = 60_000 } = {}): Promise<RawResponse> {
    const until = performance.now() + ms;
    for (;;) {
      const found = this.#takeResponse(to === "HEAD");
      if (found) return found;
      if (this.#isClosed)
        throw new Error(`closed before a response: ${this.received.slice(0, 200)}`);
      const remainingMs = until - performance.now();
      if (remainingMs <= 0) throw new Error(`no response: ${this.received.slice(0, 200)}`);
      await this.#nextChange(remainingMs);
    }
  }

  /** Waits for bytes, for the end of the connection, or for the time to pass. */
  #nextChange(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      const socket = this.#socket;
      socket.on("data", done);
      socket.on("close", done);
      function done(): void {
        clearTimeout(timer);
        socket.off("data", done);
        socket.off("close", done);
        resolve();
      }
    });
  }

  #received(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  #takeResponse(bodiless: boolean): RawResponse | undefined {
    if (this.#receivedBytes < this.#responseBytes) return undefined;
    const received = this.#received();
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const [first = "", ...lines] = received.toString("latin1", 0, end).split("\r\n");
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    const status = Number(first.split(" ")[1]);
    const length = bodiless ? 0 : Number(headers.get("content-length") ?? 0);
    this.#responseBytes = end + 4 + length;
    if (received.length < this.#responseBytes) return undefined;
    const body = received.toString("utf8", end + 4, this.#responseBytes);
    this.#chunks = [received.subarray(this.#responseBytes)];
    this.#receivedBytes -= this.#responseBytes;
    this.#responseBytes = 0;
    return { status, headers, body };
  }

  /** From now on reads nothing. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Sends FIN, and still reads. */
  endInput(): void {
    this.#socket.end();
  }

  disconnect(): void {
    this.#socket.destroy();
  }
}

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A request as text, with the content-length of its body unless the headers have another framing. */
export function toHttpText({ method, path = "/", headers = {}, body }: RawRequest): string {
  const all: Record<string, string> = {
    host: "vexel.test",
    ...(body !== undefined &&
      headers["transfer-encoding"] === undefined && {
        "content-length": String(Buffer.byteLength(body)),
      }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method ?? (body === undefined ? "GET" : "POST")} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body ?? ""}`;
}

/** Temp files of a process that have no name any more and are still open. `folder`: the gateway's data folder. */
export const openTempFiles = (folder: string, pid: number | "self" = "self"): string[] =>
  readdirSync(`/proc/${pid}/fd`).filter((descriptor) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`).startsWith(join(folder, "temp"));
    } catch {
      return false;
    }
  });

export const jsonHeaders = { ...bearer, "content-type": "application/json" };

/** A chunk of a body in chunked coding. */
export const chunk = (text: string | Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(`${text.length.toString(16)}\r\n`),
    Buffer.from(text as string),
    Buffer.from("\r\n"),
  ]);

/** An embeddings request as text. */
export const embeddingsText = (input: string, key = testKey): string =>
  toHttpText({
    path: "/v1/embeddings",
    headers: { ...jsonHeaders, authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: embeddingModel, input }),
  });

/** A form with text fields, and files named a.png. */
export function formOf(
  ...entries: readonly (readonly [name: string, value: string | Uint8Array<ArrayBuffer>])[]
): FormData {
  const form = new FormData();
  for (const [name, value] of entries) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new Blob([value]), "a.png");
  }
  return form;
}
