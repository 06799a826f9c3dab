/**
 * SSRF guard: resolves a link's host once and checks the addresses. Only these addresses are connected to, which
 * prevents DNS rebinding.
 */
import { lookup } from "node:dns/promises";
import { errorCode } from "../../lib/error-code.ts";
import { type Address, urlAddress } from "../transport/index.ts";
import { hasCredentials, ipFamilyOf, isPrivateName, isPublic } from "./address-ranges.ts";
import { DownloadError } from "./download-error.ts";

/** An address that the guard has checked, and the request for it. */
export interface CheckedLink {
  readonly address: Address;
  /** The whole request, head and body. */
  readonly request: string;
}

/** Resolves a host name to its IP addresses. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** Maximum length of a link. */
const maxLinkLength = 8192;
/** Services at lower ports may take an HTTP request for a command of their own protocol. */
const firstUnreservedPort = 1024;

/**
 * `trusted`: private hosts that are allowed, as `host:port`, or as `host` for all of its ports. `mayUseCredentials`: a
 * user name and a password in the link are sent to its host. Throws DownloadError. An unknown name and a private one
 * give the same error, or clients could enumerate internal names.
 */
export async function resolvePublicAddresses(
  url: URL,
  trusted: readonly string[],
  resolve: Resolve,
  mayUseCredentials = false,
): Promise<readonly CheckedLink[]> {
  const encrypted = url.protocol === "https:";
  if (!encrypted && url.protocol !== "http:") {
    throw new DownloadError("invalid", "the link is not an http or https URL", url.protocol);
  }
  if (!mayUseCredentials && hasCredentials(url)) {
    throw new DownloadError(
      "invalid",
      "the link contains a user name or a password",
      "credentials",
    );
  }
  if (url.href.length > maxLinkLength) {
    throw new DownloadError("invalid", "the link is too long", `${url.href.length} characters`);
  }
  // A trailing dot marks a fully qualified name. Certificates are for names without it.
  const { hostname, port } = urlAddress(url);
  const host = hostname.replace(/\.$/, "");
  const isTrusted = [host, bracketed(host)].some(
    (name) => trusted.includes(name) || trusted.includes(`${name}:${port}`),
  );
  if (
    !isTrusted &&
    (isPrivateName(host) || (port < firstUnreservedPort && port !== 80 && port !== 443))
  ) {
    throw privateAddress(`the name or port ${port} is private`);
  }
  const named = ipFamilyOf(host) === undefined;
  const addresses = named ? await addressesOf(host, resolve) : [host];
  const firstPrivate = isTrusted ? undefined : addresses.find((address) => !isPublic(address));
  // A private address among public ones is an attack or a mistake.
  if (firstPrivate !== undefined) throw privateAddress(`${firstPrivate} is not public`);
  return [...new Set(addresses)].map((address) => ({
    address: {
      hostname: address,
      port,
      ...(encrypted && { tls: named ? { serverName: host } : {} }),
    },
    request: requestFor(url, url.port === "" ? bracketed(host) : `${bracketed(host)}:${port}`),
  }));
}

/** Images are compressed already, and an uncompressed response cannot be a decompression bomb. */
const requestFor = (url: URL, host: string): string =>
  [
    `GET ${url.pathname}${url.search} HTTP/1.1`,
    `host: ${host}`,
    ...(hasCredentials(url) ? [`authorization: Basic ${basicCredentials(url)}`] : []),
    "user-agent: vexel",
    "accept: image/*",
    "accept-encoding: identity",
    "connection: close",
    "\r\n",
  ].join("\r\n");

/** In base64, so that no character of it can end the header line. */
const basicCredentials = ({ username, password }: URL): string =>
  Buffer.from(`${percentDecode(username)}:${percentDecode(password)}`).toString("base64");

/** Percent-decodes; an invalid escape stays as it is. */
function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly string[]> {
  const found = await resolve(host).catch((error: unknown) => {
    throw unknownHost(`not found, ${errorCode(error)}`);
  });
  if (found.length === 0) throw unknownHost("not found");
  return found;
}

const notPublic = "the link does not lead to a public address";

const privateAddress = (logged: string): DownloadError =>
  new DownloadError("invalid", notPublic, logged);

const unknownHost = (logged: string): DownloadError =>
  new DownloadError("unreachable", notPublic, logged, "its host cannot be found");

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** The `trusted` entry for the host of a configured URL, such as an upstream's. */
export function trustedHost(baseUrl: string): string {
  const url = new URL(baseUrl);
  return `${url.hostname}:${urlAddress(url).port}`;
}
