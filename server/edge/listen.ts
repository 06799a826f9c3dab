/** Step 1: bytes arrive. Turns a request into an `Incoming`, finds its row, and turns the `Outgoing` into bytes. */
import type { Form, Incoming, JsonBody, Outgoing } from "../gateway/incoming.ts";
import { refuse, toFault } from "../gateway/refuse.ts";
import { GatewayError } from "../std/gateway-error.ts";
import { newRequestId } from "../std/request-id.ts";
import { readJson } from "./body.ts";
import { type Cors, preflight } from "./cors.ts";
import { type FormLimits, readForm } from "./form.ts";
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
  /** Seconds without a byte before a connection is closed. */
  readonly idleSeconds: number;
  /** Told of what no handler caught. */
  readonly onDefect: (requestId: string, error: unknown) => void;
}

export interface Listening {
  readonly url: string;
  /** Takes no new connections; resolves when the open ones are done, or at once when `now`. */
  stop(now: boolean): Promise<void>;
}

type Server = Bun.Server<undefined>;

export function listen(options: ListenOptions): Listening {
  const { handlers, cors } = options;

  const answer = async (request: Request, server: Server): Promise<Response> => {
    const incoming = new Arrival(request, server, options);
    const extra = cors(request.headers.get("origin"));
    let outgoing: Outgoing;
    try {
      outgoing = await route(incoming, handlers);
    } catch (thrown) {
      const error = toFault(thrown, undefined);
      if (error.fault === "internal") options.onDefect(incoming.requestId, error.cause);
      outgoing = refuse(error);
    }
    if (request.method === "OPTIONS" && outgoing.status === 204 && Object.keys(extra).length > 0) {
      Object.assign(outgoing.headers, preflight(request, outgoing.headers.allow ?? ""));
    }
    return toResponse(outgoing, { "x-request-id": incoming.requestId, ...extra }, request.method);
  };

  const server: Server = Bun.serve({
    hostname: options.host,
    port: options.port,
    idleTimeout: Math.min(255, options.idleSeconds),
    // The readers bound each body themselves, with a proper answer; this is only the outermost wall.
    maxRequestBodySize: Math.max(options.maxBodyBytes, options.form.maxFormBytes) + 1024 * 1024,
    fetch: answer,
    error: (error) => {
      options.onDefect("", error);
      const refusal = refuse(toFault(error, undefined));
      return new Response(refusal.body, { status: refusal.status, headers: refusal.headers });
    },
  });

  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${server.port}`,
    stop: (now) => server.stop(now),
  };
}

function route(incoming: Arrival, handlers: Handlers): Promise<Outgoing> | Outgoing {
  const { method, path } = incoming;
  const found = match(path);
  if (!found) {
    throw new GatewayError(
      "unknown_url",
      `Invalid URL (${method} ${path.slice(0, 200)}). GET /openapi.json lists what there is.`,
    );
  }
  const asked = method === "HEAD" ? "GET" : method;
  if (asked === found.row.method) return handlers[found.row.name](incoming, found.part);
  const allow = allowed(found);
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" };
  const { status, headers, body } = refuse(
    new GatewayError(
      "method_not_allowed",
      `Not allowed to ${method.slice(0, 20)} on ${path.slice(0, 200)}: only ${allow}.`,
    ),
  );
  return { status, headers: { ...headers, allow }, body };
}

const allowed = ({ row }: Match): string =>
  routes
    .filter(({ path }) => path === row.path)
    .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .concat("OPTIONS")
    .join(", ");

class Arrival implements Incoming {
  readonly requestId = newRequestId();
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly #request: Request;
  readonly #server: Server;
  readonly #options: ListenOptions;

  constructor(request: Request, server: Server, options: ListenOptions) {
    this.#request = request;
    this.#server = server;
    this.#options = options;
    this.method = request.method;
    this.headers = request.headers;
    this.path = pathOf(request.url);
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

  json(): Promise<JsonBody> {
    return readJson(this.#request, this.#options.maxBodyBytes);
  }

  form(): Promise<Form> {
    return readForm(this.#request, this.#options.form);
  }

  /** Silence longer than a connection may be idle: from here on only the deadline of the journey counts. */
  expectWait(ms: number): void {
    if (ms >= this.#options.idleSeconds * 900) this.#server.timeout(this.#request, 0);
  }
}

/** Without `new URL`, which would decode and tidy what must stay as it was sent. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  if (start < 0) return "/";
  const end = url.indexOf("?", start);
  return end < 0 ? url.slice(start) : url.slice(start, end);
}
