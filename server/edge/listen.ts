/** Step 1: bytes arrive. Turns a request into an `Incoming`, finds its row, and turns the `Outgoing` into bytes. */
import { type FaultName, faults } from "../../contract/faults.ts";
import type { Form, Incoming, Outgoing } from "../gateway/incoming.ts";
import { refuse, toFault } from "../gateway/refuse.ts";
import { GatewayError } from "../std/gateway-error.ts";
import { newRequestId } from "../std/request-id.ts";
import { announcedBytes, type Reception, readJson, smallBytes } from "./body.ts";
import { ConnectionTime } from "./connection-time.ts";
import { type Cors, preflight } from "./cors.ts";
import { type FormLimits, readForm } from "./form.ts";
import { createPatience, type Patience } from "./patience.ts";
import { toResponse } from "./reply.ts";
import { type Match, match, type RouteName, routes } from "./routes.ts";

/** `part` is the varying part of the address, still encoded. */
export type Handler = (incoming: Incoming, part: string) => Promise<Outgoing> | Outgoing;
export type Handlers = Readonly<Record<RouteName, Handler>>;

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly handlers: Handlers;
  readonly cors: Cors;
  readonly maxBodyBytes: number;
  readonly form: FormLimits;
  /** Empty: as the caller reached us. */
  readonly publicUrl: string;
  /** How long to wait for more of a body. */
  readonly bodyMs: number;
  /** After so many seconds a connection is closed on which nothing is going on. */
  readonly connectionSeconds?: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Told of each answer to a route that keeps no account of its own. */
  readonly report: (told: PlainRequest) => void;
  /** Told of what no handler caught. */
  readonly onDefect: (requestId: string, error: unknown) => void;
}

/** A request that is no model call. Its path is not told: that of a picture is a secret. */
export interface PlainRequest {
  readonly requestId: string;
  readonly method: string;
  readonly route: RouteName | "unknown";
  readonly status: number;
  readonly latencyMs: number;
  readonly fault?: FaultName;
}

export interface Listening {
  readonly url: string;
  /** Requests whose answer has not left to the last byte. */
  pending(): number;
  /** From now on each answer ends its connection, so that callers who keep theirs go elsewhere. */
  beginStop(): void;
  /** Takes no new connections; resolves when the open ones are done, or at once when `now`. */
  stop(now: boolean): Promise<void>;
}

type Server = Bun.Server<undefined>;

/** The most that Bun allows. */
const mostSeconds = 255;

export function listen(options: ListenOptions): Listening {
  const { handlers, cors, connectionSeconds = mostSeconds } = options;
  const patience = createPatience(options.bodyMs, options.clock);
  let stopping = false;

  const answer = async (request: Request, server: Server, known?: Match): Promise<Response> => {
    const time = new ConnectionTime(request, server, connectionSeconds, options.clock);
    const incoming = new Arrival(request, options, patience, time);
    const extra = cors(incoming.headers);
    const found = known ?? match(incoming.path);
    let outgoing: Outgoing;
    let fault: FaultName | undefined;
    try {
      outgoing = await route(incoming, found, handlers);
    } catch (thrown) {
      const error = toFault(thrown, undefined);
      fault = error.fault;
      if (fault === "internal") options.onDefect(incoming.requestId, error.cause);
      outgoing = refuse(error);
    }
    // Model calls report themselves, when their row is written.
    if (!found?.row.model || fault !== undefined || incoming.method !== found.row.method) {
      options.report({
        requestId: incoming.requestId,
        method: incoming.method,
        route: found?.row.name ?? "unknown",
        status: outgoing.status,
        latencyMs: time.sinceBegan(),
        ...(fault !== undefined && { fault }),
      });
    }
    const { headers } = outgoing;
    if (extra) allow(outgoing, extra, request);
    // The rest of a body that was given up may still come, and who stops has no use for another request.
    if (stopping || outgoing.status === faults.request_timeout.status) headers.connection = "close";
    headers["x-request-id"] = incoming.requestId;
    time.renew();
    return toResponse(outgoing, incoming.method, time);
  };

  const server: Server = Bun.serve({
    development: false,
    // Without this, `development: false` lets two gateways share a port, and each gets some of the calls.
    reusePort: false,
    hostname: options.host,
    port: options.port,
    idleTimeout: connectionSeconds,
    // The readers bound each body themselves, with a proper answer; what nobody reads, Bun passes over.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    routes: posts(answer),
    fetch: (request, server) => answer(request, server),
    error: (error) => {
      const requestId = newRequestId();
      options.onDefect(requestId, error);
      const { status, headers, body } = refuse(toFault(error, undefined));
      return new Response(body, { status, headers: { ...headers, "x-request-id": requestId } });
    },
  });

  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${server.port}`,
    pending: () => server.pendingRequests,
    beginStop: () => {
      stopping = true;
    },
    stop: async (now) => {
      stopping = true;
      await server.stop(now);
      patience.close();
    },
  };
}

type Answer = (request: Request, server: Server, known?: Match) => Promise<Response>;

/** Calls of models are recognised by Bun itself: asking it for the whole address costs as much as reading a small body. */
function posts(
  answer: Answer,
): Record<string, { POST: Bun.Serve.Handler<Request, Server, Response> }> {
  const plain = routes.filter(({ method, path }) => method === "POST" && !path.includes("{"));
  return Object.fromEntries(
    plain.map((row) => {
      const known = { row, part: "" };
      return [
        row.path,
        { POST: (request: Request, server: Server) => answer(request, server, known) },
      ];
    }),
  );
}

function route(
  incoming: Arrival,
  found: Match | undefined,
  handlers: Handlers,
): Promise<Outgoing> | Outgoing {
  const { method } = incoming;
  if (!found) {
    throw new GatewayError(
      "unknown_url",
      `Invalid URL (${method} ${incoming.path.slice(0, 200)}). GET /openapi.json lists what there is.`,
    );
  }
  const asked = method === "HEAD" ? "GET" : method;
  if (asked === found.row.method) return handlers[found.row.name](incoming, found.part);
  const allow = allowed(found);
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" };
  const { status, headers, body } = refuse(
    new GatewayError(
      "method_not_allowed",
      `Not allowed to ${method.slice(0, 20)} on ${incoming.path.slice(0, 200)}: only ${allow}.`,
    ),
  );
  return { status, headers: { ...headers, allow }, body };
}

/** Of a page from elsewhere, what it may read and send. */
function allow(
  { status, headers }: Outgoing,
  extra: Readonly<Record<string, string>>,
  request: Request,
): void {
  const welcome = "access-control-allow-origin" in extra;
  if (request.method === "OPTIONS" && status === 204 && welcome) {
    Object.assign(headers, preflight(request, headers.allow ?? ""));
  }
  Object.assign(headers, extra);
}

const allowed = ({ row }: Match): string =>
  routes
    .filter(({ path }) => path === row.path)
    .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .concat("OPTIONS")
    .join(", ");

class Arrival implements Incoming, Reception {
  readonly requestId = newRequestId();
  readonly method: string;
  readonly headers: Headers;
  readonly #request: Request;
  readonly #options: ListenOptions;
  readonly patience: Patience;
  bytesReceived = 0;
  readonly #time: ConnectionTime;

  constructor(request: Request, options: ListenOptions, patience: Patience, time: ConnectionTime) {
    this.#request = request;
    this.#options = options;
    this.patience = patience;
    this.#time = time;
    this.method = request.method;
    this.headers = request.headers;
  }

  get path(): string {
    return pathOf(this.#request.url);
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get search(): string {
    return /\?[^#]*/.exec(this.#request.url)?.[0] ?? "";
  }

  get publicUrl(): string {
    if (this.#options.publicUrl) return this.#options.publicUrl.replace(/\/+$/, "");
    const proto = this.headers.get("x-forwarded-proto") === "https" ? "https" : "http";
    const host = this.headers.get("host") ?? "";
    return /^[\w.:[\]-]{1,255}$/.test(host) ? `${proto}://${host}` : "";
  }

  json(): Promise<unknown> {
    const { bodyMs, maxBodyBytes } = this.#options;
    if (announcedBytes(this.headers) <= smallBytes) this.#time.holdFor(bodyMs);
    else this.#time.hold();
    return readJson(this.#request, maxBodyBytes, this);
  }

  form(): Promise<Form> {
    this.#time.hold();
    return readForm(this.#request, this.#options.form, this);
  }

  count(bytes: number): void {
    this.bytesReceived += bytes;
  }

  expectWait(ms: number): void {
    this.#time.holdFor(ms);
  }
}

/**
 * Without `new URL`, which would decode what must stay as it was sent.
 * Where the request names no host that could stand in a URL, Bun gives the path alone.
 */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  if (start < 0) return "/";
  const end = url.indexOf("?", start);
  const path = end < 0 ? url.slice(start) : url.slice(start, end);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
