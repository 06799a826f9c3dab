/**
 * The IP address and the scheme of the client behind reverse proxies. Only `X-Forwarded-Proto` of a trusted proxy, and
 * the entries of `X-Forwarded-For` that trusted proxies have appended, are used: a client can send any value itself.
 */
import { isIP } from "node:net";
import { isInAddressList, parseAddressList } from "../lib/address-list.ts";
import type { RequestHeaders } from "../request/http-types.ts";

interface AddressedRequest {
  /** The address of the connection: of the client, or of the proxy in front. */
  readonly remoteAddress: string;
  readonly headers: RequestHeaders;
}

/** `trustedProxies`: addresses and networks, as in `VEXEL_TRUSTED_PROXIES`. */
export function createClientAddress(trustedProxies: string): (request: AddressedRequest) => string {
  if (trustedProxies === "") return ({ remoteAddress }) => remoteAddress;
  const trusted = parseAddressList(trustedProxies);
  return ({ remoteAddress, headers }) => {
    let address = remoteAddress;
    const forwarded = (headers.get("x-forwarded-for") ?? "").split(",");
    // Each proxy appends the address that it received the request from.
    while (trusted && isInAddressList(trusted, address)) {
      const previous = forwarded.pop()?.trim() ?? "";
      if (isIP(previous) === 0) return address;
      address = previous;
    }
    return address;
  };
}

/**
 * The scheme of the client's request. Undefined if no trusted proxy sent it: the scheme of the connection applies.
 */
export function createForwardedScheme(
  trustedProxies: string,
): (request: AddressedRequest) => "http" | "https" | undefined {
  if (trustedProxies === "") return () => undefined;
  const trusted = parseAddressList(trustedProxies);
  return ({ remoteAddress, headers }) => {
    if (!trusted || !isInAddressList(trusted, remoteAddress)) return undefined;
    const scheme = headers.get("x-forwarded-proto");
    return scheme === "https" || scheme === "http" ? scheme : undefined;
  };
}
