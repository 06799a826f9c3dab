/** The admin API (/admin/api) as a Hono app: authentication, CSRF protection, roles, and errors in OpenAI's shape. */
import { Hono } from "hono";
import { setCookie } from "hono/cookie";
import { unknownUrl } from "../http/dispatch.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { type Actor, requireRole } from "./actor.ts";
import type { AdminApiContext, AdminApiEnv, AdminRoute } from "./admin-route.ts";
import {
  type AuthenticationOptions,
  authenticateActor,
  sessionCookie,
} from "./sign-in/authenticate-actor.ts";
import type { IssuedSession } from "./sign-in/sessions.ts";

export interface AdminApiOptions extends AuthenticationOptions {
  readonly routes: readonly AdminRoute[];
}

export function createAdminApi(options: AdminApiOptions): Hono<AdminApiEnv> {
  const app = new Hono<AdminApiEnv>().basePath("/admin/api");
  app.use(async (context, next) => {
    await next();
    context.header("cache-control", "no-store");
    context.header("x-content-type-options", "nosniff");
  });
  for (const route of options.routes) {
    app.on(route.method, route.path, async (context) => {
      if (route.method !== "GET") checkOrigin(context);
      if (route.role !== "anyone") requireRole(await authenticate(context, options), route.role);
      return route.handle(context);
    });
  }
  app.notFound(({ req }) => {
    throw isKnownPath(options.routes, req.path)
      ? new GatewayError("method_not_allowed", `${req.path} does not accept ${req.method}.`)
      : unknownUrl(req.method, req.path);
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
  throw new GatewayError("invalid_csrf_token", `Requests from ${origin} are not allowed.`);
}

export function setSessionCookie(
  context: AdminApiContext,
  { token, expiresAt }: IssuedSession,
): void {
  setCookie(context, sessionCookie, token, {
    httpOnly: true,
    sameSite: "Strict",
    path: "/admin/api",
    secure: new URL(context.req.url).protocol === "https:",
    expires: new Date(expiresAt),
  });
}

const isKnownPath = (routes: readonly AdminRoute[], requested: string): boolean =>
  routes.some(({ path }) => {
    const pattern = path.replace(/:[^/]+/g, "[^/]+");
    return new RegExp(`^/admin/api${pattern}$`).test(requested);
  });
