/**
 * The HTTP listener (ARCHITECTURE.md, step 1): turns an HTTP request into an `IncomingRequest`, finds its route, and
 * adds the headers that every response has.
 */
import { type ErrorKind, errorTable } from "../../contract/errors.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { TurnQueue } from "../lib/turn-queue.ts";
import { toErrorResponse, toGatewayError } from "../request/error-response.ts";
import type { OutgoingResponse, RequestHeaders } from "../request/http-types.ts";
import { createBodyTimeout } from "./body-timeout.ts";
import { addCors, type Cors } from "./cors.ts";
import { dispatch, matchPath, mountOf, type PathMatch, routeName, routeOf } from "./dispatch.ts";
import { type BodyLimits, newRequestId, ReceivedRequest } from "./received-request.ts";
import type { Mount } from "./route.ts";
import type { Handlers, RouteName } from "./routes.ts";
import type { ConnectionReport, HttpServer, TlsCredentials } from "./server/http-server.ts";
import { startServer } from "./server/socket-server.ts";

export interface ListenOptions extends BodyLimits {
  readonly handlers: Handlers;
  readonly mounts: readonly Mount[];
  readonly host: string;
  readonly port: number;
  /** Several processes listen on the port, and the operating system spreads connections over them (SO_REUSEPORT). */
  readonly reusePort?: boolean;
  /** The current TLS certificate. Absent: plain HTTP. */
  readonly tls?: () => TlsCredentials;
  readonly cors: Cors;
  /** The public base URL. Empty: taken from the request's `host` header. */
  readonly publicUrl: string;
  /** The longest wait for the next bytes of a request body. */
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
  /** The name of a route or of a mount, or `unknown`. */
  readonly route: string;
  readonly status: number;
  readonly latencyMs: number;
  readonly error?: ErrorKind;
}

export interface Listener extends Omit<HttpServer, "port"> {
  readonly url: string;
}

/**
 * Probe routes, served even on a connection beyond the maximum: a supervisor must not restart a gateway that is only
 * busy.
 */
const probes: ReadonlySet<RouteName | "unknown"> = new Set<RouteName>(["health", "ready"]);

/** Idle timeout of a connection: longer than the keep-alive timeout of most proxies. */
const idleSeconds = 255;

export function listen(options: ListenOptions): Listener {
  const { host, clock, connectionSeconds = idleSeconds } = options;
  const bodyTimeout = createBodyTimeout({
    idleMs: options.bodyMs,
    minRate: options.minBodyRate,
    clock,
  });
  const scheme = options.tls ? ("https" as const) : ("http" as const);
  const requestOptions = { ...options, scheme, bodyTimeout, parseQueue: new TurnQueue(clock) };
  const server = startServer({
    host,
    reusePort: options.reusePort ?? false,
    port: options.port,
    ...(options.tls && { tls: options.tls }),
    limits: {
      maxConnections: options.maxConnections,
      bodyMs: options.bodyMs,
      idleMs: connectionSeconds * 1000,
    },
    onRequest: (request) => handle(new ReceivedRequest(request, requestOptions), options),
    ...createRefusals(options),
    isProbe: (path) => probes.has(routeName(matchPath(path), "GET")),
    ...(options.keyIdOf && { keyIdOf: options.keyIdOf }),
    onConnectionsRefused: options.onConnectionsRefused,
    onError: (error) => options.onInternalError("-", error),
    clock,
  });
  return {
    ...server,
    url: `${scheme}://${host.includes(":") ? `[${host}]` : host}:${server.port}`,
    stop: async (now) => {
      await server.stop(now);
      bodyTimeout.close();
    },
  };
}

/** Never rejects. */
async function handle(
  incoming: ReceivedRequest,
  options: ListenOptions,
): Promise<OutgoingResponse> {
  const began = options.clock();
  const match = matchPath(incoming.path);
  const mount = mountOf(incoming.path, options.mounts);
  let outgoing: OutgoingResponse;
  let errorKind: ErrorKind | undefined;
  try {
    outgoing = await dispatch(incoming, { mount, match }, options.handlers);
  } catch (thrown) {
    const error = toGatewayError(thrown, undefined);
    errorKind = error.kind;
    if (errorKind === "internal") options.onInternalError(incoming.requestId, error.cause);
    outgoing = toErrorResponse(error);
  }
  if (errorKind !== undefined || !isReportedWithLedgerRow(incoming, match)) {
    options.report({
      requestId: incoming.requestId,
      method: incoming.method,
      route: mount?.name ?? routeName(match, incoming.method),
      status: outgoing.status,
      latencyMs: options.clock() - began,
      ...(errorKind !== undefined && { error: errorKind }),
    });
  }
  const { headers } = outgoing;
  // The admin API and the console allow no other origin.
  const corsHeaders = mount ? undefined : options.cors(incoming.headers);
  if (mount) Object.assign(headers, { ...mount.headers, ...headers });
  if (corsHeaders) addCors(outgoing, corsHeaders, incoming);
  // The rest of a body that timed out may still arrive.
  if (outgoing.status === errorTable.request_timeout.status) headers.connection = "close";
  headers["x-request-id"] = incoming.requestId;
  return outgoing;
}

/** Model requests are reported when their ledger row is written. */
const isReportedWithLedgerRow = (
  { method }: ReceivedRequest,
  match: PathMatch | undefined,
): boolean => match !== undefined && routeOf(match, method)?.model === true;

/** Responses to invalid bytes, and to connections beyond the maximum. */
function createRefusals({ maxConnections, report }: ListenOptions) {
  const tooMany = toErrorResponse(tooManyConnections(maxConnections));
  return {
    refuseConnection: (): OutgoingResponse => withRequestId(tooMany, newRequestId()),
    refuse: (error: GatewayError): OutgoingResponse => {
      const requestId = newRequestId();
      const refusal = toErrorResponse(error);
      report({
        requestId,
        method: "-",
        route: "unknown",
        status: refusal.status,
        latencyMs: 0,
        error: error.kind,
      });
      return withRequestId(refusal, requestId);
    },
  };
}

const withRequestId = (response: OutgoingResponse, requestId: string): OutgoingResponse => ({
  ...response,
  headers: { ...response.headers, "x-request-id": requestId },
});

const tooManyConnections = (max: number): GatewayError =>
  new GatewayError(
    "overloaded",
    `Too many connections: the gateway serves up to ${max} at once. Retry in 1 s, and reuse connections (keep-alive) where you can.`,
    { retryAfterMs: 1000 },
  );
