/** What every handler of the admin API has: the request of the HTTP server, and the responses of this API. */
import type { Context } from "hono";
import type { z } from "zod";
import { parse } from "../http/validate-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest } from "../request/http-types.ts";

export interface AdminEnv {
  Bindings: { readonly incoming: IncomingRequest };
}

export type AdminContext = Context<AdminEnv>;

/** Reads a JSON body within the bounds of all JSON bodies, and validates it. Throws GatewayError. */
export async function jsonBody<T>({ env }: AdminContext, schema: z.ZodType<T>): Promise<T> {
  const body = await env.incoming.json("admin");
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new GatewayError("invalid_json", "The body must be a JSON object.");
  }
  return parse(schema, body as Readonly<Record<string, unknown>>);
}

/** Admin responses must not be stored by caches between the gateway and the operator. */
export const uncachedJson = (context: AdminContext, value: unknown): Response =>
  context.body(JSON.stringify(value), 200, {
    "content-type": "application/json",
    "cache-control": "no-store",
  });
