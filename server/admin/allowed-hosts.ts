/**
 * Allowed hosts of the console and the admin API, against DNS rebinding: a page of another site can let its own host
 * name point to the gateway's address, and then counts as a page of the gateway. IP addresses and `localhost` are no
 * names that another site can own.
 */
import { isIP } from "node:net";
import { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest } from "../request/http-types.ts";

export interface AllowedHostsOptions {
  /** Host names, separated by commas. Empty: any. */
  readonly hosts: string;
  /** Its host is allowed as well. */
  readonly publicUrl: string;
}

/** Returns a function that throws for a request under another host. */
export function createCheckHost({
  hosts,
  publicUrl,
}: AllowedHostsOptions): (request: Pick<IncomingRequest, "headers">) => void {
  const names = hosts.split(",").map((name) => name.trim().toLowerCase());
  const publicHost = URL.canParse(publicUrl) ? [new URL(publicUrl).hostname] : [];
  const allowed = new Set([...names, ...publicHost, "localhost"]);
  return ({ headers }) => {
    const header = headers.get("host");
    // A page of another site knows no admin token. Browsers always send a host.
    if (hosts === "" || header === null || headers.get("authorization") !== null) return;
    const host = hostName(header);
    if (allowed.has(host) || isIP(host) !== 0) return;
    throw new GatewayError(
      "permission_denied",
      `The console and the admin API are not served under the host '${host.slice(0, 200)}'. If this is the address of the console, add the host to VEXEL_CONSOLE_HOSTS.`,
    );
  };
}

/** Without the port, the brackets of an IPv6 address, and the final dot of a full name. */
const hostName = (header: string): string =>
  header
    .toLowerCase()
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
