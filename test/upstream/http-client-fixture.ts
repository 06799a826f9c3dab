/** Servers whose responses a test writes byte by byte, and which count their connections. */
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { UpstreamRequest, UpstreamResponse } from "../../server/upstream/adapter.ts";
import type { TlsTrust } from "../../server/upstream/transport/connection.ts";
import { ReuseBlocks, type Unsolicited } from "../../server/upstream/transport/connection-pool.ts";
import type { ResponseParser } from "../../server/upstream/transport/parse-response.ts";
import {
  createTransport,
  HttpClient,
  type UpstreamTransport,
} from "../../server/upstream/transport/transport.ts";

export interface ReceivedRequest {
  readonly socket: Socket;
  /** Which connection, and which request on it, both from 1. */
  readonly connection: number;
  readonly turn: number;
  /** The first line and the headers. */
  readonly head: string;
  readonly body: Buffer;
}

export interface RawServer {
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  /** How many connections there have been, and how many of them are open. */
  readonly opened: number;
  readonly open: number;
  [Symbol.dispose](): void;
}

interface RawOptions {
  readonly host?: string;
  /** Called with the request head, before the body has arrived. */
  readonly onHead?: (request: Omit<ReceivedRequest, "body">) => void;
  readonly onConnection?: (socket: Socket) => void;
  /** Over TLS, with this certificate. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** `response` is called with each complete request. */
export function rawServer(
  response: (request: ReceivedRequest) => void,
  { host = "127.0.0.1", onHead, onConnection, tls }: RawOptions = {},
): RawServer {
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  let opened = 0;
  const serve = (socket: Socket): void => {
    const connection = ++opened;
    let turn = 0;
    let chunks: Buffer[] = [];
    let head: string | undefined;
    let missing = 0;
    sockets.add(socket);
    // Broken connections are what these tests are about; `close` follows.
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.on("close", () => sockets.delete(socket));
    socket.setNoDelay(true);
    onConnection?.(socket);
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (head === undefined) {
        const bytes = Buffer.concat(chunks);
        const end = bytes.indexOf("\r\n\r\n");
        if (end < 0) return;
        head = bytes.toString("latin1", 0, end);
        turn++;
        onHead?.({ socket, connection, turn, head });
        missing = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        chunks = [bytes.subarray(end + 4)];
        missing -= chunks[0]!.length;
      } else missing -= chunk.length;
      if (missing > 0) return;
      const one = { socket, connection, turn, head, body: Buffer.concat(chunks) };
      [chunks, head] = [[], undefined];
      requests.push(one);
      response(one);
    });
  };
  const server: Server = tls
    ? createTlsServer(tls, serve)
    : createServer({ allowHalfOpen: true }, serve);
  // Bun binds at once, so the port is known without waiting.
  server.listen(0, host);
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}/v1`,
    received: requests,
    get opened() {
      return opened;
    },
    get open() {
      return sockets.size;
    },
    [Symbol.dispose]: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

export const ok = (body: string, more = ""): string =>
  `HTTP/1.1 200 OK\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Responds with the body of the request. */
export const echo = ({ socket, body }: ReceivedRequest): void =>
  void socket.write(ok(body.toString()));

interface TestClient {
  readonly client: HttpClient;
  /** The body of the response. */
  send(
    url: string,
    body: string,
    more?: Partial<UpstreamRequest>,
    signal?: AbortSignal,
  ): Promise<string>;
  [Symbol.dispose](): void;
}

/** The response or the error, as the client receives it. */
export const exchange = (
  client: HttpClient,
  request: UpstreamRequest,
  signal: AbortSignal,
): Promise<ResponseParser> => client.exchange(request, signal);

/** `reuseBlocks`: the servers whose connections are not reused. */
export function testClient(
  maxResponseBytes = 1_000_000,
  reuseBlocks = new ReuseBlocks({ clock: () => performance.now() }),
): TestClient {
  const clock = () => performance.now();
  const client = new HttpClient({ maxResponseBytes, clock, reuseBlocks });
  return {
    client,
    send: async (url, body, more = {}, signal = new AbortController().signal) => {
      const response = await exchange(client, { url, headers: {}, body, ...more }, signal);
      return response.body.toString();
    },
    [Symbol.dispose]: () => client.close(),
  };
}

interface TestSender extends UpstreamTransport {
  /** Sends a request that no client aborts. */
  post(url: string, body: string, more?: Partial<UpstreamRequest>): Promise<UpstreamResponse>;
  /** The body of the response to such a request. */
  textOf(url: string, body: string, more?: Partial<UpstreamRequest>): Promise<string>;
  readonly reports: readonly Unsolicited[];
  [Symbol.dispose](): void;
}

/** The same client, with its errors mapped to gateway errors. */
export function testSender({
  maxResponseBytes = 1_000_000,
  tls,
}: {
  readonly maxResponseBytes?: number;
  readonly tls?: TlsTrust;
} = {}): TestSender {
  const reports: Unsolicited[] = [];
  const sender = createTransport({
    maxResponseBytes,
    clock: () => performance.now(),
    fetchOnly: { http: false, https: false },
    ...(tls && { tls }),
    onUnsolicited: (report) => reports.push(report),
  });
  const post: TestSender["post"] = (url, body, more) =>
    sender.send({ url, headers: {}, body, ...more }, new AbortController().signal);
  return {
    ...sender,
    post,
    textOf: async (url, body, more) => (await post(url, body, more)).text(),
    reports,
    [Symbol.dispose]: () => sender.close(),
  };
}

/** The error of the request. Throws if the request succeeds. */
export const failure = async (promise: Promise<unknown>): Promise<Error> => {
  const outcome = await promise.then(
    (value: unknown) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (error: unknown) => ({ error }),
  );
  if (outcome instanceof Error) throw outcome;
  return outcome.error as Error;
};
