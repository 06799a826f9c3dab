/** An HTTP server with the handler of a test, without a gateway, and the errors it reported. */
import type {
  HttpServer,
  HttpServerOptions,
  ServerLimits,
  ServerRequest,
} from "../../server/http/server/http-server.ts";
import { startServer } from "../../server/http/server/socket-server.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { toErrorResponse, toGatewayError } from "../../server/request/error-response.ts";
import type { OutgoingResponse, StreamedResponseBody } from "../../server/request/http-types.ts";
import { RawConnection } from "./gateway-fixture.ts";

export type Handle = (request: ServerRequest) => Promise<OutgoingResponse> | OutgoingResponse;

type ServeOptions = Partial<Omit<HttpServerOptions, "limits"> & ServerLimits>;

export interface Served {
  readonly server: HttpServer;
  /** Internal errors that broke off responses. */
  readonly errors: unknown[];
  /** Connects, and sends these blocks. */
  connect(...blocks: readonly (string | Uint8Array)[]): Promise<RawConnection>;
  /** The status of the response to a request on a new connection. */
  statusFor(request: string): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Stopped, with its connections, at the end of the block that creates it. */
export function serve(response: Handle = echo, options: ServeOptions = {}): Served {
  const { bodyMs = 60_000, idleMs = 60_000, maxConnections = 10_000, ...rest } = options;
  const broken: unknown[] = [];
  const open: RawConnection[] = [];
  const server = startServer({
    host: "127.0.0.1",
    port: 0,
    reusePort: false,
    isProbe: () => false,
    limits: { bodyMs, idleMs, maxConnections },
    refuseConnection: () => toErrorResponse(new GatewayError("overloaded", "too many connections")),
    onConnectionsRefused: () => undefined,
    clock: () => performance.now(),
    onRequest: async (request) => {
      try {
        return await response(request);
      } catch (error) {
        return toErrorResponse(toGatewayError(error, undefined));
      }
    },
    refuse: toErrorResponse,
    onError: (error) => broken.push(error),
    ...rest,
  });
  const connect: Served["connect"] = async (...blocks) => {
    const connection = await RawConnection.open(`http://127.0.0.1:${server.port}`, ...blocks);
    open.push(connection);
    return connection;
  };
  return {
    server,
    errors: broken,
    connect,
    statusFor: async (request) => (await (await connect(request)).response()).status,
    [Symbol.asyncDispose]: async () => {
      for (const connection of open) connection.disconnect();
      await server.stop(true);
    },
  };
}

export async function readBody({ body }: ServerRequest): Promise<Buffer> {
  const whole = body.whole();
  if (whole) return whole;
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = await body.next();
    if (!chunk) return Buffer.concat(chunks);
    chunks.push(chunk);
  }
}

export const respondWith = (body: OutgoingResponse["body"], status = 200): OutgoingResponse => ({
  status,
  headers: {},
  body,
});

/** A body of known length that is read while it is sent. `closed`: gets whether it was sent completely. */
export const streamedBody = (
  length: number,
  open: StreamedResponseBody["open"],
  closed: boolean[] = [],
): StreamedResponseBody => ({
  length,
  open,
  close: async (complete) => void closed.push(complete),
});

/** Yields these chunks, of a body that is read while it is sent. */
export async function* each<Chunk>(...chunks: readonly Chunk[]): AsyncGenerator<Chunk> {
  yield* chunks;
}

/** Responds with the method, the path and the body of the request. */
export const echo: Handle = async (request) => {
  const { method, path, search } = request.head;
  const body = await readBody(request);
  return respondWith(JSON.stringify([method, path + search, body.toString("latin1")]));
};

export const get = (path: string, lines = ""): string =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\n${lines}\r\n`;
export const post = (path: string, body: string, lines = ""): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n${lines}\r\n${body}`;
/** The head of a request with chunked coding. */
export const chunkedPost = (path: string, lines = ""): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n${lines}\r\n`;

/** A promise that a test resolves. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** Responds after the gate is open. */
export const afterGate =
  ({ opened }: { readonly opened: Promise<void> }, response: Handle): Handle =>
  async (request) => {
    await opened;
    return response(request);
  };

/** The timeouts of a connection, for tests without a server. */
export const timeouts = {
  handshakeMs: 10_000,
  headMs: 60_000,
  idleMs: 60_000,
  writeMs: 60_000,
  bodyMs: 60_000,
  lingerIdleMs: 2000,
  lingerTotalMs: 10_000,
  headCacheMs: 5000,
};
