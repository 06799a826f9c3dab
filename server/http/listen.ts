/** Step 1: bytes arrive. Turns a request into an `Incoming`, finds its row, and turns the `Outgoing` into bytes. */
import { type ErrorKind, errorTable } from "../../contract/errors.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { MemoryShares } from "../lib/memory-shares.ts";
import { newRequestId } from "../lib/request-id.ts";
import { toErrorResponse, toGatewayError } from "../request/error-response.ts";
import type {
  Form,
  IncomingRequest,
  OutgoingResponse,
  RequestHeaders,
} from "../request/http-types.ts";
import { type BodyTimeout, createBodyTimeout } from "./body-timeout.ts";
import { type Cors, preflight } from "./cors.ts";
import { type FormLimits, readForm } from "./form.ts";
import { ParseQueue } from "./parse-queue.ts";
import { type JsonBodyContext, readJson } from "./read-body.ts";
import { matchRoute, type RouteMatch, type RouteName, routes } from "./routes.ts";
import type { ConnectionReport } from "./server/connection-limit.ts";
import type { HttpRequest } from "./server/request.ts";
import { incompleteBody, type RequestBody } from "./server/request-body.ts";
import { type Server, startServer } from "./server/server.ts";

/** `part` is the varying part of the address, still encoded. */
export type Handler = (
  incoming: IncomingRequest,
  part: string,
) => Promise<OutgoingResponse> | OutgoingResponse;
export type Handlers = Readonly<Record<RouteName, Handler>>;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly handlers: Handlers;
  readonly cors: Cors;
  readonly maxBodyBytes: number;
  readonly form: FormLimits;
  /** Of the JSON bodies of all requests. */
  readonly jsonMemory: MemoryShares;
  /** Empty: as the caller reached us. */
  readonly publicUrl: string;
  /** How long to wait for more of a body. */
  readonly bodyMs: number;
  /** Bytes per second that a body must bring on average. 0: no minimum. */
  readonly minBodyRate: number;
  /** After so many seconds a connection is closed on which nothing moves. */
  readonly connectionSeconds?: number;
  readonly maxConnections: number;
  /** The id of the valid API key that a request carries. Absent: connections are shared among addresses, not keys. */
  readonly keyIdOf?: (headers: RequestHeaders) => string | undefined;
  /** For the log, every few seconds at most. */
  readonly onConnectionsRefused: (report: ConnectionReport) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Told of each answer to a route that keeps no account of its own. */
  readonly report: (told: RequestReport) => void;
  /** Told of what no handler caught. */
  readonly onInternalError: (requestId: string, error: unknown) => void;
}

/** A request that is no model call. Its path is not told: that of a picture is a secret. */
export interface RequestReport {
  readonly requestId: string;
  readonly method: string;
  readonly route: RouteName | "unknown";
  readonly status: number;
  readonly latencyMs: number;
  readonly error?: ErrorKind;
}

export interface HttpServer extends Omit<Server, "port"> {
  readonly url: string;
}

/** Answered on a connection beyond the maximum: a supervisor must not restart a gateway that is only busy. */
const probes: ReadonlySet<RouteName | undefined> = new Set<RouteName>(["health", "ready"]);

/** As long as most proxies keep a connection, and longer. */
const idleSeconds = 255;

export function listen(options: ListenOptions): HttpServer {
  const { handlers, cors, connectionSeconds = idleSeconds } = options;
  const patience = createBodyTimeout({
    idleMs: options.bodyMs,
    minRate: options.minBodyRate,
    clock: options.clock,
  });

  const parses = new ParseQueue(options.clock);

  const reply = async (exchange: HttpRequest): Promise<OutgoingResponse> => {
    const began = options.clock();
    const incoming = new ReceivedRequest(exchange, options, { patience, parses });
    const found = matchRoute(incoming.path);
    let outgoing: OutgoingResponse;
    let fault: ErrorKind | undefined;
    try {
      outgoing = await route(incoming, found, handlers);
    } catch (thrown) {
      const error = toGatewayError(thrown, undefined);
      fault = error.kind;
      if (fault === "internal") options.onInternalError(incoming.requestId, error.cause);
      outgoing = toErrorResponse(error);
    }
    // Model calls report themselves, when their row is written.
    if (!found?.row.model || fault !== undefined || incoming.method !== found.row.method) {
      options.report({
        requestId: incoming.requestId,
        method: incoming.method,
        route: found?.row.name ?? "unknown",
        status: outgoing.status,
        latencyMs: options.clock() - began,
        ...(fault !== undefined && { error: fault }),
      });
    }
    const { headers } = outgoing;
    const extra = cors(incoming.headers);
    if (extra) allow(outgoing, extra, incoming);
    // The rest of a body that was given up may still come.
    if (outgoing.status === errorTable.request_timeout.status) headers.connection = "close";
    headers["x-request-id"] = incoming.requestId;
    return outgoing;
  };

  const tooMany = toErrorResponse(tooManyConnections(options.maxConnections));
  const server = startServer({
    host: options.host,
    port: options.port,
    bodyMs: options.bodyMs,
    idleMs: connectionSeconds * 1000,
    maxConnections: options.maxConnections,
    ...(options.keyIdOf && { keyIdOf: options.keyIdOf }),
    isProbe: (path) => probes.has(matchRoute(path)?.row.name),
    refuseConnection: () => ({
      ...tooMany,
      headers: { ...tooMany.headers, "x-request-id": newRequestId() },
    }),
    onConnectionsRefused: options.onConnectionsRefused,
    clock: options.clock,
    handle: reply,
    refuse: (error) => {
      const requestId = newRequestId();
      const refusal = toErrorResponse(error);
      const { status } = refusal;
      options.report({
        ...{ requestId, method: "-", route: "unknown", status, latencyMs: 0 },
        error: error.kind,
      });
      return { ...refusal, headers: { ...refusal.headers, "x-request-id": requestId } };
    },
    onError: (error) => options.onInternalError("-", error),
  });

  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    ...server,
    url: `http://${host}:${server.port}`,
    stop: async (now) => {
      await server.stop(now);
      patience.close();
    },
  };
}

function route(
  incoming: ReceivedRequest,
  found: RouteMatch | undefined,
  handlers: Handlers,
): Promise<OutgoingResponse> | OutgoingResponse {
  const { method } = incoming;
  if (!found) {
    throw new GatewayError(
      "unknown_url",
      `Invalid URL (${method} ${incoming.path.slice(0, 200)}). GET /openapi.json lists what there is.`,
    );
  }
  const asked = method === "HEAD" ? "GET" : method;
  if (asked === found.row.method) return handlers[found.row.name](incoming, found.parameter);
  const allow = allowed(found);
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" };
  const { status, headers, body } = toErrorResponse(
    new GatewayError(
      "method_not_allowed",
      `Not allowed to ${method.slice(0, 20)} on ${incoming.path.slice(0, 200)}: only ${allow}.`,
    ),
  );
  return { status, headers: { ...headers, allow }, body };
}

const tooManyConnections = (max: number): GatewayError =>
  new GatewayError(
    "overloaded",
    `Too many connections: the gateway serves up to ${max} at once. Retry in 1 s, and reuse connections (keep-alive) where you can.`,
    { retryAfterMs: 1000 },
  );

/** Of a page from elsewhere, what it may read and send. */
function allow(
  { status, headers }: OutgoingResponse,
  extra: Readonly<Record<string, string>>,
  { method, headers: asked }: IncomingRequest,
): void {
  const welcome = "access-control-allow-origin" in extra;
  if (method === "OPTIONS" && status === 204 && welcome) {
    Object.assign(headers, preflight(asked, headers.allow ?? ""));
  }
  Object.assign(headers, extra);
}

const allowed = ({ row }: RouteMatch): string =>
  routes
    .filter(({ path }) => path === row.path)
    .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .concat("OPTIONS")
    .join(", ");

class ReceivedRequest implements IncomingRequest, JsonBodyContext {
  readonly requestId = newRequestId();
  readonly timeout: BodyTimeout;
  bytesReceived = 0;
  readonly #exchange: HttpRequest;
  readonly #options: ListenOptions;
  readonly #parses: ParseQueue;
  #keyId = "";
  /** Bytes of memory that the body takes. */
  #taken = 0;

  constructor(
    exchange: HttpRequest,
    options: ListenOptions,
    { patience, parses }: { readonly patience: BodyTimeout; readonly parses: ParseQueue },
  ) {
    this.#exchange = exchange;
    this.#options = options;
    this.timeout = patience;
    this.#parses = parses;
  }

  get method(): string {
    return this.#exchange.head.method;
  }

  get path(): string {
    return this.#exchange.head.path;
  }

  get search(): string {
    return this.#exchange.head.search;
  }

  get headers(): RequestHeaders {
    return this.#exchange.head;
  }

  get body(): RequestBody {
    return this.#exchange.body;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get publicUrl(): string {
    if (this.#options.publicUrl) return this.#options.publicUrl.replace(/\/+$/, "");
    const proto = this.headers.get("x-forwarded-proto") === "https" ? "https" : "http";
    const host = this.headers.get("host") ?? "";
    return /^[\w.:[\]-]{1,255}$/.test(host) ? `${proto}://${host}` : "";
  }

  json(keyId: string): unknown {
    this.#keyId = keyId;
    return readJson(this, this.#options.maxBodyBytes, this);
  }

  reserveMemory(bytes: number): void {
    this.#options.jsonMemory.take(this.#keyId, bytes);
    this.#taken += bytes;
  }

  parseInTurn<T>(parse: () => T): Promise<T> {
    return this.#parses.run(this.#keyId, () => {
      // The client may have left while its body waited for its turn.
      if (this.signal.aborted) throw incompleteBody();
      return parse();
    });
  }

  releaseBody(): void {
    if (this.#taken > 0) this.#options.jsonMemory.release(this.#keyId, this.#taken);
    this.#taken = 0;
  }

  form(keyId: string): Promise<Form> {
    return readForm(this, this.#options.form, this, keyId);
  }

  countReceived(bytes: number): void {
    this.bytesReceived += bytes;
  }
}
