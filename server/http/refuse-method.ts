/** The response to a method that a path does not have: the allowed methods, for OPTIONS without an error. */
import { GatewayError } from "../lib/gateway-error.ts";
import { type ErrorResponse, toErrorResponse } from "../request/error-response.ts";

/** `methods`: the methods that the path has. */
export function refuseMethod(
  method: string,
  path: string,
  methods: Iterable<string>,
): ErrorResponse {
  const allow = allowHeader(methods);
  if (method === "OPTIONS") return { status: 204, headers: { allow }, body: "" };
  const { status, headers, body } = toErrorResponse(
    new GatewayError(
      "method_not_allowed",
      `Not allowed to ${method.slice(0, 20)} on ${path.slice(0, 200)}. Allowed methods: ${allow}.`,
    ),
  );
  return { status, headers: { ...headers, allow }, body };
}

/** HEAD is served wherever GET is, and OPTIONS everywhere. */
const allowHeader = (methods: Iterable<string>): string =>
  [...methods]
    .flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .concat("OPTIONS")
    .join(", ");
