/**
 * Step 1: calls the handler of a request's route. An unknown path gets 404, another method 405 with the allowed ones.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { OutgoingResponse } from "../request/http-types.ts";
import type { BridgedRequest } from "./fetch-bridge.ts";
import { type PathMatch, routeOf } from "./match-route.ts";
import { refuseMethod } from "./refuse-method.ts";
import type { Handler, Mount } from "./route.ts";
import type { Handlers } from "./routes.ts";

export interface Destination {
  /** Of the path. Its handler serves all methods. */
  readonly mount: Mount | undefined;
  /** Of the path, in the routing table. */
  readonly match: PathMatch | undefined;
}

export const mountOf = (path: string, mounts: readonly Mount[]): Mount | undefined =>
  mounts.find(({ prefix }) => path === prefix || path.startsWith(`${prefix}/`));

export function dispatch(
  incoming: BridgedRequest,
  { mount, match }: Destination,
  handlers: Handlers,
): Promise<OutgoingResponse> | OutgoingResponse {
  const { method, path } = incoming;
  if (mount) return mount.handle(incoming);
  if (!match) throw unknownUrl(method, path);
  const route = routeOf(match, method);
  if (route) {
    // The pattern of the path has matched, so its parameters are those that the type of the handler names.
    const handler = handlers[route.name as keyof Handlers] as Handler<string>;
    return handler(incoming, match.parameters);
  }
  return refuseMethod(method, path, match.methods.keys());
}

export const unknownUrl = (method: string, path: string): GatewayError =>
  new GatewayError(
    "unknown_url",
    `Invalid URL (${method} ${path.slice(0, 200)}). ${
      path.endsWith("/images/generations:submit")
        ? submitHint
        : "GET /openapi.json lists the available paths."
    }`,
  );

/** The path of Azure's preview API of 2023, which openai-python before 1.0 uses for images. */
const submitHint =
  "Azure's preview API of 2023 for images, which is polled, is not supported. Use POST /openai/deployments/{model}/images/generations; with openai-python before 1.0, call openai.Image.create with api_type='open_ai' and an api_base that ends with /v1.";
