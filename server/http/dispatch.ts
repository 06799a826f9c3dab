/**
 * Finds the route of a request, calls its handler and adds the headers that every response has. An unknown path gets
 * 404; a method that the path does not have gets 405 with the allowed methods.
 */
import { type ErrorKind, errorTable } from "../../contract/errors.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { toErrorResponse, toGatewayError } from "../request/error-response.ts";
import type { OutgoingResponse } from "../request/http-types.ts";
import { addCors, type Cors } from "./cors.ts";
import { ReceivedRequest, type ReceivedRequestOptions } from "./received-request.ts";
import type { Handler, Mount } from "./route.ts";
import { type Handlers, type Route, type RouteName, routes } from "./routes.ts";
import type { ServerRequest } from "./server/http-server.ts";

export interface DispatchOptions {
  readonly handlers: Handlers;
  readonly mounts: readonly Mount[];
  readonly cors: Cors;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** The id of this process, which every response has. */
  readonly replica: string;
  /** Called for each response that the request pipeline does not report. */
  readonly report: (request: RequestReport) => void;
  /** Called with errors that are bugs: the client gets a 500 without details. */
  readonly onInternalError: (requestId: string, error: unknown) => void;
}

/**
 * Log entry of a request that is not for a model. It omits the path, because the path of a stored image grants access
 * to it.
 */
interface RequestReport {
  readonly requestId: string;
  readonly method: string;
  /** The name of a route or of a mount, or `unknown`. */
  readonly route: string;
  readonly status: number;
  readonly latencyMs: number;
  /** Absent if not known. */
  readonly clientAddress?: string;
  readonly error?: ErrorKind;
}

/** Returns the function that responds to every request. Its promise never rejects. */
export const createDispatch =
  (options: DispatchOptions & ReceivedRequestOptions) =>
  (request: ServerRequest): Promise<OutgoingResponse> =>
    dispatch(request, options);

async function dispatch(
  request: ServerRequest,
  options: DispatchOptions & ReceivedRequestOptions,
): Promise<OutgoingResponse> {
  const incoming = new ReceivedRequest(request, options);
  const { method, path, requestId } = incoming;
  const began = options.clock();
  const match = matchPath(path);
  const route = match && routeOf(match, method);
  const mount = match ? undefined : options.mounts.find((each) => isBelow(path, each));
  let outgoing: OutgoingResponse;
  let errorKind: ErrorKind | undefined;
  try {
    outgoing = await (mount
      ? mount.handle(incoming)
      : respond(incoming, match, route, options.handlers));
  } catch (thrown) {
    const error = toGatewayError(thrown, undefined);
    errorKind = error.kind;
    if (errorKind === "internal") options.onInternalError(requestId, error.cause);
    outgoing = toErrorResponse(error);
  }
  // The pipeline reports model requests when they have ended, also those without a ledger row.
  if (errorKind !== undefined || !route?.model) {
    options.report({
      requestId,
      method,
      route: mount?.name ?? routeName(match, method),
      status: outgoing.status,
      latencyMs: options.clock() - began,
      clientAddress: incoming.clientAddress,
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
  headers["x-request-id"] = requestId;
  headers["vexel-replica"] = options.replica;
  return outgoing;
}

function respond(
  incoming: ReceivedRequest,
  match: PathMatch | undefined,
  route: Route | undefined,
  handlers: Handlers,
): Promise<OutgoingResponse> | OutgoingResponse {
  const { method, path } = incoming;
  if (!match) throw unknownUrl(method, path);
  if (!route) return refuseMethod(method, path, match.methods.keys());
  incoming.route = route.path;
  // The pattern of the path has matched, so it has the parameters of the handler's type.
  const handler = handlers[route.sameAs ?? (route.name as keyof Handlers)] as Handler<string>;
  return handler(incoming, match.parameters);
}

const isBelow = (path: string, { prefix }: Mount): boolean =>
  path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/");

/** `document`: the OpenAPI document that lists the paths of this API. */
export const unknownUrl = (
  method: string,
  path: string,
  document = "/openapi.json",
): GatewayError =>
  new GatewayError(
    "unknown_url",
    `Invalid URL (${method} ${path.slice(0, 200)}). ${
      hints.find(([ending]) => path.endsWith(ending))?.[1] ??
      `GET ${document} lists the available paths.`
    }`,
  );

/** What to use instead of a path that clients know. */
const hints: readonly (readonly [ending: string, hint: string])[] = [
  // The path of Azure's preview API of 2023, which openai-python before 1.0 uses for images.
  [
    "/images/generations:submit",
    "Azure's preview API of 2023 for images, which is polled, is not supported. Use POST /openai/deployments/{model}/images/generations; with openai-python before 1.0, call openai.Image.create with api_type='open_ai' and an api_base that ends with /v1.",
  ],
  [
    "/images/variations",
    "Image variations are not supported. Use POST /v1/images/edits with the image and a prompt that describes the variation.",
  ],
];

interface PathMatch {
  /** The routes of this path, by method. */
  readonly methods: ReadonlyMap<string, Route>;
  /** Still percent-encoded. */
  readonly parameters: Readonly<Record<string, string>>;
}

interface PathPattern extends PathMatch {
  readonly path: string;
  readonly pattern: RegExp;
}

type MatchPath = (path: string) => PathMatch | undefined;

const noParameters: PathMatch["parameters"] = {};

/**
 * Returns a function that finds the routes of a path in this table: first by the exact path, then by the patterns with
 * parameters, in the order of the table.
 */
function createMatchPath(table: readonly Route[]): MatchPath {
  const exact = new Map<string, PathPattern>();
  for (const { path } of table) {
    const rows = table.filter((row) => row.path === path);
    const pattern = new RegExp(`^${path.replace(/\{(\w+)\}/g, "(?<$1>[^/].*)")}$`);
    const methods = new Map<string, Route>(rows.map((row) => [row.method, row]));
    exact.set(path, { path, pattern, methods, parameters: noParameters });
  }
  const patterns = [...exact.values()].filter(({ path }) => path.includes("{"));

  const find = (path: string): PathPattern | undefined => {
    const known = exact.get(path);
    if (known) return known;
    for (const candidate of patterns) {
      const found = candidate.pattern.exec(path);
      if (found) return { ...candidate, parameters: { ...found.groups } };
    }
    return undefined;
  };

  /**
   * Folds repeated slashes, only for the routes of OpenAI and Azure: proxies may protect other routes by path prefix.
   */
  const findFolded = (path: string): PathPattern | undefined => {
    const folded = path.replace(/\/{2,}/g, "/");
    if (folded === path || !/^\/(?:v1|openai)\//.test(folded)) return undefined;
    const found = find(folded);
    // In `/v1/engines//embeddings` the empty segment is a missing model id, and `embeddings` is not an engine id.
    const isMissing = found?.path.endsWith("}") && path.endsWith(`//${lastParameter(found)}`);
    return isMissing ? undefined : found;
  };

  // A path that matches no route is matched again with repeated slashes folded: some clients double them.
  return (path) => {
    const found = find(path);
    // No model id ends with a slash: a parameter with a slash at its end has a doubled one,
    // `/deployments/m//embeddings`.
    if (found && (found.parameters === noParameters || !lastParameter(found).endsWith("/")))
      return found;
    return findFolded(path) ?? found;
  };
}

const lastParameter = ({ parameters }: Pick<PathMatch, "parameters">): string =>
  Object.values(parameters).at(-1) ?? "";

export const matchPath: MatchPath = createMatchPath(routes);

/** The route of a request. HEAD is served by the route of GET. */
const routeOf = ({ methods }: PathMatch, method: string): Route | undefined =>
  methods.get(method === "HEAD" ? "GET" : method);

/** The name of the route for the log. A method that the path does not have gets the name of its first route. */
export function routeName(match: PathMatch | undefined, method: string): RouteName | "unknown" {
  if (!match) return "unknown";
  const [first] = match.methods.values();
  return (routeOf(match, method) ?? first)?.name ?? "unknown";
}

/**
 * Responds to a method that a path does not have. OPTIONS gets the allowed methods; for any other method it throws
 * GatewayError. `methods`: the methods that the path has.
 */
export function refuseMethod(
  method: string,
  path: string,
  methods: Iterable<string>,
): OutgoingResponse {
  const allow = allowHeader(methods);
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" };
  throw new GatewayError(
    "method_not_allowed",
    `Not allowed to ${method.slice(0, 20)} on ${path.slice(0, 200)}. Allowed methods: ${allow}.`,
    { allow },
  );
}

/** HEAD is served wherever GET is, and OPTIONS everywhere. */
export const allowHeader = (methods: Iterable<string>): string =>
  [...methods]
    .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .concat("OPTIONS")
    .join(", ");
