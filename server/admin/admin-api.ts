/** The admin API (/admin/api) as a Hono app: authentication, CSRF protection, roles, and errors in OpenAI's shape. */
import { Hono } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { unknownUrl } from "../http/dispatch.ts";
import { refuseMethod } from "../http/refuse-method.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type Actor, requireAllProjects, requireRole } from "./actor.ts";
import type { AdminApiContext, AdminApiEnv, AdminRoute } from "./admin-route.ts";
import { setSessionCookie } from "./cookies.ts";
import { type AuthenticationOptions, authenticateActor } from "./sign-in/authenticate-actor.ts";

export interface AdminApiOptions extends AuthenticationOptions {
  readonly routes: readonly AdminRoute[];
}

export function createAdminApi(options: AdminApiOptions): Hono<AdminApiEnv> {
  const app = new Hono<AdminApiEnv>().basePath("/admin/api");
  /** The methods of each path, as if they were the handlers of GET. */
  const methodsOfPath = new TrieRouter<string>();
  for (const route of options.routes) {
    methodsOfPath.add("GET", `/admin/api${route.path}`, route.method);
    app.on(route.method, route.path, async (context) => {
      if (route.method !== "GET") checkOrigin(context);
      if (route.role !== "anyone") {
        const actor = await authenticate(context, options);
        requireRole(actor, route.role);
        if (route.scope === "all-projects") requireAllProjects(actor);
      }
      return route.handle(context);
    });
  }
  app.notFound(({ req }) => {
    const methods = methodsOfPath.match("GET", req.path)[0].map(([method]) => method);
    if (methods.length === 0) throw unknownUrl(req.method, req.path);
    const { status, headers, body } = refuseMethod(req.method, req.path, methods);
    return new Response(body || null, { status, headers });
  });
  // The listener turns every error into a response in OpenAI's shape, and logs those that are bugs.
  app.onError((error) => {
    throw error;
  });
  return app;
}

/** Sets the actor of the request, or throws. */
async function authenticate(context: AdminApiContext, options: AdminApiOptions): Promise<Actor> {
  const { req } = context;
  const request = { method: req.method, header: (name: string) => req.header(name) };
  const { actor, session, rotated } = await authenticateActor(request, options);
  if (rotated) setSessionCookie(context, rotated);
  context.set("actor", actor);
  context.set("session", session);
  return actor;
}

/** Browsers send `origin` with every change. A sign-in from the page of another site is refused here (login CSRF). */
function checkOrigin(context: AdminApiContext): void {
  const origin = context.req.header("origin");
  if (origin === undefined || origin === new URL(context.req.url).origin) return;
  // Behind a proxy that terminates TLS the gateway may not know its own origin. A page cannot set this header.
  if (context.req.header("sec-fetch-site") === "same-origin") return;
  throw new GatewayError(
    "invalid_csrf_token",
    `Requests from ${origin} are not allowed. If this is the address of the console, set VEXEL_PUBLIC_URL to it.`,
  );
}
