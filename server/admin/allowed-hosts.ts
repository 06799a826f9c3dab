/**
 * Allowed hosts of the console and the admin API, against DNS rebinding: a page of another site can let its own host
 * name point to the gateway's address, and then counts as a page of the gateway. IP addresses and `localhost` are no
 * names that another site can own.
 */
import { isIP } from "node:net";
import { message } from "../../contract/messages/message.ts";
import { commaList } from "../lib/comma-list.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest } from "../request/http-types.ts";
import { bearerToken, isAdminToken } from "./sign-in/admin-token.ts";

interface AllowedHostsOptions {
  /** Host names, separated by commas. Empty: any. */
  readonly hosts: string;
  /** Its host is allowed as well. */
  readonly publicUrl: string;
  /** VEXEL_ADMIN_TOKEN: requests with it are allowed under any host. */
  readonly adminToken: string;
}

/** Returns a function that throws for a request under another host. */
export function createCheckHost({
  hosts,
  publicUrl,
  adminToken,
}: AllowedHostsOptions): (request: Pick<IncomingRequest, "headers">) => void {
  const isAllowed = createIsAllowedHost({ hosts, publicUrl });
  return ({ headers }) => {
    const header = headers.get("host");
    // Browsers always send a host.
    if (hosts === "" || header === null || isAllowed(header)) return;
    // A page of another site can send any `authorization`, but does not know the admin token.
    if (isAdminToken(bearerToken(headers.get("authorization")), adminToken)) return;
    throw new GatewayError(
      "permission_denied",
      message("wrong_host", { host: hostName(header).slice(0, 200) }),
    );
  };
}

/**
 * Whether a one-time link may lead to the host of the request: the link opens an account, so it must not lead to a host
 * that only this request names. With VEXEL_PUBLIC_URL links lead there, and any host is right.
 */
export function createMayLinkTo(
  options: Pick<AllowedHostsOptions, "hosts" | "publicUrl">,
): (host: string | null) => boolean {
  const isAllowed = createIsAllowedHost(options);
  return (host) => options.publicUrl !== "" || (host !== null && isAllowed(host));
}

function createIsAllowedHost({
  hosts,
  publicUrl,
}: Pick<AllowedHostsOptions, "hosts" | "publicUrl">): (header: string) => boolean {
  const names = commaList(hosts.toLowerCase());
  const publicHost = URL.canParse(publicUrl) ? [new URL(publicUrl).hostname] : [];
  const allowed = new Set([...names, ...publicHost, "localhost"]);
  return (header) => {
    const host = hostName(header);
    return allowed.has(host) || isIP(host) !== 0;
  };
}

/** Without the port, the brackets of an IPv6 address, and the final dot of a full name. */
const hostName = (header: string): string =>
  header
    .toLowerCase()
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");
