/** The admin API (/admin/api) as a Hono app: authentication, CSRF protection, roles, and errors in OpenAI's shape. */
import { Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { Capability } from "../../contract/admin.ts";
import { message } from "../../contract/messages/message.ts";
import { refuseMethod, unknownUrl } from "../http/dispatch.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type Actor, requireAllProjects, withCapability } from "./actor.ts";
import {
  type AdminApiContext,
  type AdminApiEnv,
  type AdminRoute,
  adminApiDocument,
} from "./admin-route.ts";
import { compressResponse } from "./compress-response.ts";
import { setSessionCookie } from "./cookies.ts";
import { refuseUnknownParameters } from "./read-query.ts";
import {
  type Authenticated,
  type AuthenticationOptions,
  authenticateActor,
  refuseOldPassword,
} from "./sign-in/authenticate-actor.ts";
import { checkOrigin } from "./sign-in/check-origin.ts";

interface AdminApiOptions extends AuthenticationOptions {
  readonly routes: readonly AdminRoute[];
}

export function createAdminApi(options: AdminApiOptions): Hono<AdminApiEnv> {
  const app = new Hono<AdminApiEnv>().basePath("/admin/api");
  /**
   * The methods of each path, for the `allow` header. Every method name is registered under GET, so that one lookup
   * finds all of them.
   */
  const methodsOfPath = new TrieRouter<string>();
  for (const route of options.routes) {
    methodsOfPath.add("GET", `/admin/api${route.path}`, route.method);
    app.on(route.method, route.path, async (context) => {
      const { req, env } = context;
      refuseNull(req.url);
      if (route.method !== "GET") checkOrigin((name) => req.header(name), env.incoming.publicUrl);
      if (route.needs === "anyone") return route.handle(context);
      const authenticated = await authenticate(context, options);
      context.set("actor", authorize(authenticated, route, route.needs));
      refuseUnknownParameters(context, route);
      const response = await route.handle(context);
      context.res = await compressResponse(response, route, req.header("accept-encoding"));
      // The token rotates after the handler has succeeded: an error response would not carry the cookie with the new
      // token.
      const { session } = authenticated;
      const rotated = session && (await options.sessions?.rotate(session));
      if (rotated) setSessionCookie(context, rotated);
      return context.res;
    });
  }
  app.notFound(({ req }) => {
    const methods = methodsOfPath.match("GET", req.path)[0].map(([method]) => method);
    if (methods.length === 0) throw unknownUrl(req.method, req.path, adminApiDocument);
    const { status, headers } = refuseMethod(req.method, req.path, methods);
    return new Response(null, { status, headers });
  });
  // The listener turns every error into a response in OpenAI's shape, and logs internal errors.
  app.onError((error) => {
    throw error;
  });
  return app;
}

/** The actor with the projects in which it may use the route. Throws GatewayError. */
function authorize(
  { actor, session }: Authenticated,
  { isForPasswordChange, scope }: AdminRoute,
  needed: Capability,
): Actor {
  if (!isForPasswordChange) refuseOldPassword(session?.user);
  const allowed = withCapability(actor, needed, scope);
  if (scope === "all-projects") requireAllProjects(actor);
  return allowed;
}

/** PostgreSQL cannot store the character U+0000, and refuses a query with it. */
function refuseNull(url: string): void {
  if (!url.includes("%00")) return;
  throw new GatewayError("invalid_value", message("url_has_null"));
}

/** Sets the actor of the request, or throws. */
async function authenticate(
  context: AdminApiContext,
  options: AdminApiOptions,
): Promise<Authenticated> {
  const { req, env } = context;
  const request = {
    method: req.method,
    header: (name: string) => req.header(name),
    address: env.address,
  };
  const authenticated = await authenticateActor(request, options);
  context.set("actor", authenticated.actor);
  context.set("session", authenticated.session);
  context.set("isStillAllowed", authenticated.isStillAllowed);
  return authenticated;
}
