/** An HTTP client on a plain socket that reads slowly, or disconnects in a chosen phase of its request. */
import { connect } from "node:net";

export type Behavior =
  | "read"
  /** Reads in small steps with pauses, so that the response waits in the gateway. */
  | "read slowly"
  | "disconnect during the upload"
  | "disconnect before the response"
  | "disconnect at the first byte"
  | "disconnect during the response";

export interface RawRequest {
  readonly port: number;
  /** If absent, POST. */
  readonly method?: "GET";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly behavior: Behavior;
  /** How long a client waits before it disconnects, or between two reads. */
  readonly pauseMs: number;
  /** Called when the request, or the part of it that is sent, has been handed to the socket. */
  readonly onSent: () => void;
}

export interface RawResponse {
  readonly status: number;
  readonly body: Buffer;
}

/** Undefined if the client disconnected. Rejects if the connection ends before the response does. */
export function sendRaw(request: RawRequest): Promise<RawResponse | undefined> {
  const { port, body, behavior, pauseMs, onSent } = request;
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse | undefined>();
  const text = requestText(request, "close");
  const chunks: Buffer[] = [];
  let received = 0;
  const socket = connect({ port, host: "127.0.0.1" });
  const disconnect = (): void => {
    socket.destroy();
    resolve(undefined);
  };
  socket.on("error", (error) => reject(error));
  socket.on("connect", () => {
    const isPartial = behavior === "disconnect during the upload";
    if (behavior === "read slowly") socket.pause();
    socket.write(isPartial ? text.slice(0, text.length - body.length / 2) : text, () => {
      onSent();
      if (isPartial || behavior === "disconnect before the response")
        setTimeout(disconnect, pauseMs);
      if (behavior === "read slowly") setTimeout(() => socket.resume(), 10 * pauseMs);
    });
  });
  socket.on("data", (chunk: Buffer) => {
    // A copy: the socket may use its buffer again.
    chunks.push(Buffer.from(chunk));
    received += chunk.length;
    if (behavior === "disconnect at the first byte") disconnect();
    if (behavior === "disconnect during the response" && received > 2000) disconnect();
    if (behavior !== "read slowly") return;
    socket.pause();
    setTimeout(() => socket.resume(), pauseMs);
  });
  socket.on("close", () => {
    try {
      resolve(parse(Buffer.concat(chunks)));
    } catch (error) {
      reject(error);
    }
  });
  return promise;
}

/**
 * Sends many requests on one connection (pipelining), and reads their responses only after `mayRead`: until then the
 * gateway holds what the socket does not accept.
 */
export function sendPipelined(
  requests: readonly Pick<RawRequest, "port" | "path" | "headers" | "body">[],
  mayRead: Promise<void>,
): Promise<readonly RawResponse[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly RawResponse[]>();
  const chunks: Buffer[] = [];
  const socket = connect({ port: requests[0]?.port ?? 0, host: "127.0.0.1" });
  socket.on("error", (error) => reject(error));
  socket.on("connect", () => {
    socket.pause();
    const last = requests.length - 1;
    for (const [at, each] of requests.entries()) {
      socket.write(requestText(each, at === last ? "close" : "keep-alive"));
    }
    void mayRead.then(() => socket.resume());
  });
  socket.on("data", (chunk: Buffer) => chunks.push(Buffer.from(chunk)));
  socket.on("close", () => {
    try {
      resolve(parseAll(Buffer.concat(chunks)));
    } catch (error) {
      reject(error);
    }
  });
  return promise;
}

function parseAll(bytes: Buffer): readonly RawResponse[] {
  const responses: RawResponse[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const end = rest.indexOf("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(rest.toString("latin1", 0, end))?.[1]);
    responses.push(parse(rest.subarray(0, end + 4 + length)));
    rest = rest.subarray(end + 4 + length);
  }
  return responses;
}

function requestText(
  { method, path, headers, body }: Pick<RawRequest, "method" | "path" | "headers" | "body">,
  connection: "close" | "keep-alive",
): string {
  const head = [
    `${method ?? "POST"} ${path} HTTP/1.1`,
    "host: gateway",
    `connection: ${connection}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ].join("\r\n");
  return `${head}\r\n\r\n${body}`;
}

function parse(bytes: Buffer): RawResponse {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) throw new Error(`The response has no complete head: ${bytes.length} bytes.`);
  const head = bytes.subarray(0, end).toString("latin1").toLowerCase();
  const status = Number(head.split(" ")[1]);
  const rest = bytes.subarray(end + 4);
  if (/\r\ntransfer-encoding: chunked/.test(head)) return { status, body: dechunk(rest) };
  const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1]);
  if (rest.length !== length) throw new Error(`The body has ${rest.length} bytes of ${length}.`);
  return { status, body: rest };
}

function dechunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) throw new Error("The chunked body is incomplete.");
    const length = Number.parseInt(bytes.toString("latin1", at, line), 16);
    if (length === 0) return Buffer.concat(parts);
    parts.push(bytes.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}
