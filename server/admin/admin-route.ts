/**
 * One route of the admin API. Every route names the capability and the projects that it needs: the app refuses a
 * request before the handler runs. Laws check the whole table, and the OpenAPI document is built from it.
 */
import type { Context } from "hono";
import type { z } from "zod";
import type { Capability } from "../../contract/admin.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import type { Actor } from "./actor.ts";
import type { ActiveSession } from "./sign-in/sessions.ts";

/** Lists the paths of the admin API. */
export const adminApiDocument = "/admin/api/openapi.json";

export interface AdminApiEnv {
  readonly Bindings: {
    readonly incoming: Pick<IncomingRequest, "publicUrl" | "search" | "json" | "headers" | "parts">;
    /** The client's IP address, also behind trusted proxies. */
    readonly address: string;
  };
  readonly Variables: {
    actor: Actor;
    /** Undefined for a token. */
    session: ActiveSession | undefined;
    /** Whether the session has not ended, and the user still has the same access. For requests that take long. */
    isStillAllowed: () => Promise<boolean>;
  };
}

export type AdminApiContext = Context<AdminApiEnv>;

type MediaType = "application/json" | "application/octet-stream" | "text/csv" | "text/event-stream";

/** The description of a route, without its handler. */
export interface AdminOperation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below /admin/api, in Hono's syntax. */
  readonly path: `/${string}`;
  /** `anyone`: also without a session. */
  readonly needs: Capability | "anyone";
  /**
   * - `gateway`: no data of the route belongs to a project.
   * - `project`: the handler shows and changes only data of the actor's projects.
   * - `all-projects`: refused for an actor who is restricted to projects.
   */
  readonly scope: "gateway" | "project" | "all-projects";
  /** Also allowed for a user who must choose a new password first. */
  readonly isForPasswordChange?: true;
  /** The response of this GET has a key or token: it is never compressed. */
  readonly hasSecret?: true;
  /** For the OpenAPI document. */
  readonly summary: string;
  /** The query parameters. */
  readonly query?: z.ZodObject;
  /** The JSON body. If absent, the route takes no body. */
  readonly body?: z.ZodType;
  /** The schema of the JSON, or the media type of another response. Null if there is no content (204). */
  readonly response: z.ZodType | MediaType | null;
  /** The status of a success. The default is 200, or 204 without content. */
  readonly status?: 201 | 202 | 303;
}

export interface AdminRoute extends AdminOperation {
  readonly handle: (context: AdminApiContext) => Promise<Response>;
}

/** Who sends the request, and from which address: for the audit log. */
export const senderOf = (context: AdminApiContext) => ({
  actor: context.get("actor").name,
  address: context.env.address,
});
