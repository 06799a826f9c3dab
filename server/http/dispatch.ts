/**
 * Step 1: calls the handler of a request's route. An unknown path gets 404, another method 405 with the allowed ones.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { toErrorResponse } from "../request/error-response.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import { allowedMethods, type PathMatch, routeOf } from "./match-route.ts";
import type { Handler } from "./route.ts";
import type { Handlers } from "./routes.ts";

export function dispatch(
  incoming: IncomingRequest,
  match: PathMatch | undefined,
  handlers: Handlers,
): Promise<OutgoingResponse> | OutgoingResponse {
  const { method, path } = incoming;
  if (!match) throw unknownUrl(method, path);
  const route = routeOf(match, method);
  if (route) {
    // The pattern of the path has matched, so its parameters are those that the type of the handler names.
    const handler = handlers[route.name] as Handler<string>;
    return handler(incoming, match.parameters);
  }
  const allow = allowedMethods(match);
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" };
  const refusal = toErrorResponse(methodNotAllowed(method, path, allow));
  return { ...refusal, headers: { ...refusal.headers, allow } };
}

export const unknownUrl = (method: string, path: string): GatewayError =>
  new GatewayError(
    "unknown_url",
    `Invalid URL (${method} ${path.slice(0, 200)}). GET /openapi.json lists the available paths.`,
  );

export const methodNotAllowed = (method: string, path: string, allow: string): GatewayError =>
  new GatewayError(
    "method_not_allowed",
    `Not allowed to ${method.slice(0, 20)} on ${path.slice(0, 200)}. Allowed methods: ${allow}.`,
  );
