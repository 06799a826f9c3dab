/**
 * One route of the admin API. Every route names the role that it needs: the app refuses a request before the handler
 * runs, and a law checks the whole table.
 */
import type { Context } from "hono";
import type { Role } from "../../contract/admin.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import type { Actor } from "./actor.ts";
import type { ActiveSession } from "./sign-in/sessions.ts";

export interface AdminApiEnv {
  readonly Bindings: {
    readonly incoming: Pick<IncomingRequest, "remoteAddress" | "json">;
  };
  readonly Variables: {
    actor: Actor;
    /** Undefined for the admin token. */
    session: ActiveSession | undefined;
  };
}

export type AdminApiContext = Context<AdminApiEnv>;

export interface AdminRoute {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below /admin/api, in Hono's syntax. */
  readonly path: string;
  /** `anyone`: also without a session. */
  readonly role: Role | "anyone";
  readonly handle: (context: AdminApiContext) => Promise<Response> | Response;
}

/** The client's IP address, for the audit log and the throttle of sign-ins. */
export const addressOf = ({ env }: AdminApiContext): string => env.incoming.remoteAddress;
