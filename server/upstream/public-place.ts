/** Where a link leads, checked: its host is looked up once, here, and what was found is all that is ever connected to. */
import { lookup } from "node:dns/promises";
import { codeOf } from "../std/error-code.ts";
import { addressBytes, isInsideName, isPublic } from "./address-guard.ts";
import { NotFetched } from "./download-fault.ts";
import type { LonePlace } from "./http/lone-call.ts";

/** The addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** Longer ones are made for other ends than pictures. */
const mostLinkLength = 8192;
/** Services other than the web's listen below, and some take a request for HTTP for one of their own. */
const firstFreePort = 1024;

/**
 * `trusted`: hosts that may be inside, as `host:port`, or as `host` for all of its ports.
 * Throws NotFetched. A name that is not there and one that leads inside look alike, or callers could find out names.
 */
export async function placesOf(
  url: URL,
  trusted: readonly string[],
  resolve: Resolve,
): Promise<readonly LonePlace[]> {
  const encrypted = url.protocol === "https:";
  if (!encrypted && url.protocol !== "http:") {
    throw new NotFetched("link", "the link is not an http or https address", url.protocol);
  }
  if (url.username !== "" || url.password !== "") {
    throw new NotFetched("link", "the link holds a user name or a password", "credentials");
  }
  if (url.href.length > mostLinkLength) {
    throw new NotFetched("link", "the link is too long", `${url.href.length} characters`);
  }
  // A dot at the end says that a name is whole. Certificates are for names without it.
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const port = portOf(url);
  const known = [host, bracketed(host)].some(
    (name) => trusted.includes(name) || trusted.includes(`${name}:${port}`),
  );
  if (!known && (isInsideName(host) || (port < firstFreePort && port !== 80 && port !== 443))) {
    throw inside("link", `port ${port} or name is inside`);
  }
  const named = addressBytes(host) === undefined;
  const addresses = named ? await addressesOf(host, resolve) : [host];
  const closed = known ? undefined : addresses.find((address) => !isPublic(address));
  // One that is inside among others that are not is a trap, or a mistake.
  if (closed !== undefined) throw inside("link", `${closed} is not public`);
  return [...new Set(addresses)].map((address) => ({
    address,
    port,
    ...(encrypted && { tls: named ? { serverName: host } : {} }),
    request: requestFor(url, url.port === "" ? bracketed(host) : `${bracketed(host)}:${port}`),
  }));
}

/** Pictures are compressed already; what is not compressed cannot unfold into more than it is. */
const requestFor = ({ pathname, search }: URL, host: string): string =>
  [
    `GET ${pathname}${search} HTTP/1.1`,
    `host: ${host}`,
    "user-agent: vexel",
    "accept: image/*",
    "accept-encoding: identity",
    "connection: close",
    "\r\n",
  ].join("\r\n");

async function addressesOf(host: string, resolve: Resolve): Promise<readonly string[]> {
  const found = await resolve(host).catch((error: unknown) => {
    throw inside("road", `not found, ${codeOf(error)}`);
  });
  if (found.length === 0) throw inside("road", "not found");
  return found;
}

const inside = (kind: "link" | "road", logged: string): NotFetched =>
  new NotFetched(kind, "the link does not lead to a public address", logged);

const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

const portOf = ({ port, protocol }: URL): number =>
  port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);

/** How the host of an address of our own, such as an upstream's, is named among the trusted ones. */
export function trustedHost(baseUrl: string): string {
  const url = new URL(baseUrl);
  return `${url.hostname}:${portOf(url)}`;
}
