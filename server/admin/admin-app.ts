/** The admin API (/admin), for the operator, with its own key: a Hono app that the HTTP server mounts. */
import { Hono } from "hono";
import { unknownUrl } from "../http/dispatch.ts";
import type { AdminEnv } from "./admin-env.ts";
import { allowMethods } from "./allow-methods.ts";
import { authenticateAdmin } from "./authenticate-admin.ts";
import { type EventsApiOptions, eventsApi } from "./events.ts";
import { type TargetsApiOptions, targetsApi } from "./targets.ts";
import { type WebhooksApiOptions, webhooksApi } from "./webhooks.ts";

export interface AdminAppOptions extends EventsApiOptions, TargetsApiOptions, WebhooksApiOptions {
  /** Empty: the admin API is off. */
  readonly key: string;
}

export function createAdminApp(options: AdminAppOptions): Hono<AdminEnv> {
  const app = new Hono<AdminEnv>().basePath("/admin");
  app.use(allowMethods(() => app.routes));
  app.use(authenticateAdmin(options.key));
  app.route("/targets", targetsApi(options));
  app.route("/events", eventsApi(options));
  app.route("/webhooks", webhooksApi(options));
  app.notFound(({ req }) => {
    throw unknownUrl(req.method, req.path);
  });
  // The listener turns every error into a response in OpenAI's shape, and logs those that are bugs.
  app.onError((error) => {
    throw error;
  });
  return app;
}
