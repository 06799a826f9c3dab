/** Responds to OPTIONS, and to methods that a path of the admin API does not have: 405 with the allowed ones. */
import type { MiddlewareHandler } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import { refuseMethod } from "../http/refuse-method.ts";
import type { AdminEnv } from "./admin-env.ts";

interface AppRoute {
  readonly method: string;
  readonly path: string;
}

/** `routes`: all routes of the app. Called at the first request, when all are registered. */
export function allowMethods(routes: () => readonly AppRoute[]): MiddlewareHandler<AdminEnv> {
  let methodsOfPaths: TrieRouter<string> | undefined;
  return async ({ req, env }, next) => {
    methodsOfPaths ??= methodsByPath(routes());
    const methods = methodsOfPaths.match("GET", req.path)[0].map(([method]) => method);
    if (methods.length === 0 || methods.includes(req.method)) return next();
    const { status, headers, body } = refuseMethod(req.method, env.incoming.path, methods);
    return new Response(body || null, { status, headers });
  };
}

/** A router whose handlers are the methods of each path. */
function methodsByPath(routes: readonly AppRoute[]): TrieRouter<string> {
  const router = new TrieRouter<string>();
  const isMiddleware = ({ method }: AppRoute): boolean => method === "ALL";
  for (const route of routes) {
    if (!isMiddleware(route)) router.add("GET", route.path, route.method);
  }
  return router;
}
