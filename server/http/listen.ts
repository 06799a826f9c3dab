/** Step 1: the HTTP listener. Turns an HTTP request into an `IncomingRequest`, finds its route, and adds the headers that every response has. */
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

/** `parameter`: the variable part of the path, still percent-encoded. */
export type Handler = (
  incoming: IncomingRequest,
  parameter: string,
) => Promise<OutgoingResponse> | OutgoingResponse;
export type Handlers = Readonly<Record<RouteName, Handler>>;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly handlers: Handlers;
  readonly cors: Cors;
  readonly maxBodyBytes: number;
  readonly form: FormLimits;
  /** Memory for the JSON bodies of all requests. */
  readonly jsonMemory: MemoryShares;
  /** The public base URL. Empty: taken from the request's `host` header. */
  readonly publicUrl: string;
  /** Timeout for more bytes of a body. */
  readonly bodyMs: number;
  /** Minimum average rate of a body, in bytes per second. 0: no minimum. */
  readonly minBodyRate: number;
  /** Idle timeout of a connection. */
  readonly connectionSeconds?: number;
  readonly maxConnections: number;
  /** The id of the valid API key that a request carries. Absent: connections are shared among addresses, not keys. */
  readonly keyIdOf?: (headers: RequestHeaders) => string | undefined;
  /** For the log, every few seconds at most. */
  readonly onConnectionsRefused: (report: ConnectionReport) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Called for each response that is not reported with a ledger row. */
  readonly report: (request: RequestReport) => void;
  /** Called with errors that are bugs: the client gets a 500 without details. */
  readonly onInternalError: (requestId: string, error: unknown) => void;
}

/**
 * Log entry of a request that is not for a model. It omits the path, because the path of a stored image grants access
 * to it.
 */
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

/**
 * Probe routes, served even on a connection beyond the maximum: a supervisor must not restart a gateway that is only
 * busy.
 */
const probes: ReadonlySet<RouteName | undefined> = new Set<RouteName>(["health", "ready"]);

/** Idle timeout of a connection: longer than the keep-alive timeout of most proxies. */
const idleSeconds = 255;

export function listen(options: ListenOptions): HttpServer {
  const { handlers, cors, connectionSeconds = idleSeconds } = options;
  const bodyTimeout = createBodyTimeout({
    idleMs: options.bodyMs,
    minRate: options.minBodyRate,
    clock: options.clock,
  });
  const parseQueue = new ParseQueue(options.clock);

  const handle = async (request: HttpRequest): Promise<OutgoingResponse> => {
    const began = options.clock();
    const incoming = new ReceivedRequest(request, options, { bodyTimeout, parseQueue });
    const found = matchRoute(incoming.path);
    let outgoing: OutgoingResponse;
    let errorKind: ErrorKind | undefined;
    try {
      outgoing = await route(incoming, found, handlers);
    } catch (thrown) {
      const error = toGatewayError(thrown, undefined);
      errorKind = error.kind;
      if (errorKind === "internal") options.onInternalError(incoming.requestId, error.cause);
      outgoing = toErrorResponse(error);
    }
    // Model requests are reported when their ledger row is written.
    if (!found?.row.model || errorKind !== undefined || incoming.method !== found.row.method) {
      options.report({
        requestId: incoming.requestId,
        method: incoming.method,
        route: found?.row.name ?? "unknown",
        status: outgoing.status,
        latencyMs: options.clock() - began,
        ...(errorKind !== undefined && { error: errorKind }),
      });
    }
    const { headers } = outgoing;
    const corsHeaders = cors(incoming.headers);
    if (corsHeaders) addCors(outgoing, corsHeaders, incoming);
    // The rest of a body that timed out may still arrive.
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
    handle,
    refuse: (error) => {
      const requestId = newRequestId();
      const refusal = toErrorResponse(error);
      const { status } = refusal;
      options.report({
        requestId,
        method: "-",
        route: "unknown",
        status,
        latencyMs: 0,
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
      bodyTimeout.close();
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
      `Invalid URL (${method} ${incoming.path.slice(0, 200)}). GET /openapi.json lists the available paths.`,
    );
  }
  const routeMethod = method === "HEAD" ? "GET" : method;
  if (routeMethod === found.row.method) return handlers[found.row.name](incoming, found.parameter);
  const allow = allowedMethods(found);
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" };
  const { status, headers, body } = toErrorResponse(
    new GatewayError(
      "method_not_allowed",
      `Not allowed to ${method.slice(0, 20)} on ${incoming.path.slice(0, 200)}. Allowed methods: ${allow}.`,
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

/** Adds the CORS headers. */
function addCors(
  { status, headers }: OutgoingResponse,
  corsHeaders: Readonly<Record<string, string>>,
  { method, headers: requestHeaders }: IncomingRequest,
): void {
  const isAllowed = "access-control-allow-origin" in corsHeaders;
  if (method === "OPTIONS" && status === 204 && isAllowed) {
    Object.assign(headers, preflight(requestHeaders, headers.allow ?? ""));
  }
  Object.assign(headers, corsHeaders);
}

const allowedMethods = ({ row }: RouteMatch): string =>
  routes
    .filter(({ path }) => path === row.path)
    .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .concat("OPTIONS")
    .join(", ");

class ReceivedRequest implements IncomingRequest, JsonBodyContext {
  readonly requestId = newRequestId();
  readonly timeout: BodyTimeout;
  bytesReceived = 0;
  readonly #request: HttpRequest;
  readonly #options: ListenOptions;
  readonly #parseQueue: ParseQueue;
  #keyId = "";
  /** Memory that is reserved for the body. */
  #reservedBytes = 0;

  constructor(
    request: HttpRequest,
    options: ListenOptions,
    {
      bodyTimeout,
      parseQueue,
    }: { readonly bodyTimeout: BodyTimeout; readonly parseQueue: ParseQueue },
  ) {
    this.#request = request;
    this.#options = options;
    this.timeout = bodyTimeout;
    this.#parseQueue = parseQueue;
  }

  get method(): string {
    return this.#request.head.method;
  }

  get path(): string {
    return this.#request.head.path;
  }

  get search(): string {
    return this.#request.head.search;
  }

  get headers(): RequestHeaders {
    return this.#request.head;
  }

  get body(): RequestBody {
    return this.#request.body;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
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
    this.#reservedBytes += bytes;
  }

  parseInTurn<T>(parse: () => T): Promise<T> {
    return this.#parseQueue.run(this.#keyId, () => {
      // The client may have disconnected while its body waited for its turn.
      if (this.signal.aborted) throw incompleteBody();
      return parse();
    });
  }

  releaseBody(): void {
    if (this.#reservedBytes > 0) this.#options.jsonMemory.release(this.#keyId, this.#reservedBytes);
    this.#reservedBytes = 0;
  }

  form(keyId: string): Promise<Form> {
    return readForm(this, this.#options.form, this, keyId);
  }

  countReceived(bytes: number): void {
    this.bytesReceived += bytes;
  }
}
