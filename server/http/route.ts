/** Routes: a method and a path pattern, with the types of the parameters in the path; JSON responses of handlers. */
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import type { BridgedRequest } from "./fetch-bridge.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A row of the routing table. */
export interface RouteRow {
  readonly name: string;
  readonly method: Method;
  /** With `{name}` for a path parameter, which may contain encoded or plain slashes, but does not begin with one. */
  readonly path: `/${string}`;
  readonly summary: string;
  /** A request for a model, which has a row in the ledger. */
  readonly model?: true;
}

/** The names of the parameters in a path pattern. */
export type ParametersOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersOf<Rest>
  : never;

/** The values of the parameters, still percent-encoded. */
type PathParameters<Names extends string = string> = Readonly<Record<Names, string>>;

export type Handler<Names extends string = never> = (
  incoming: IncomingRequest,
  parameters: PathParameters<Names>,
) => Promise<OutgoingResponse>;

/** A handler of all paths below a prefix, and of all methods. It also responds to unknown paths and methods. */
export interface Mount {
  /** For the log. */
  readonly name: string;
  readonly prefix: `/${string}`;
  /** The headers of every response, errors included. */
  readonly headers: Readonly<Record<string, string>>;
  handle(incoming: BridgedRequest): Promise<OutgoingResponse>;
}

/** A segment with invalid percent-encoding is returned unchanged: it matches no id. */
export function decodePathSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const json = (value: unknown, status = 200): OutgoingResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});
