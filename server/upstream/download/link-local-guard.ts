/**
 * SSRF guard of webhooks and connection tests: refuses link-local addresses and metadata services of clouds. Private
 * addresses are allowed, because self-hosted servers have them. The checked address is the one that is connected to: a
 * second lookup could return another (DNS rebinding).
 */
import { message } from "../../../contract/messages/message.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { type SendUpstreamRequest, urlAddress } from "../transport/index.ts";
import { ipFamilyOf, isLinkLocal } from "./address-ranges.ts";
import type { Resolve } from "./ssrf-guard.ts";

interface LinkLocalGuardOptions {
  readonly send: SendUpstreamRequest;
  readonly resolve: Resolve;
  /** A proxy of the environment resolves the name and connects. */
  readonly isProxied: (url: URL) => boolean;
}

/** The addresses of a host. Throws GatewayError if one of them is link-local. */
export async function resolveAllowed(
  hostname: string,
  resolve: Resolve,
): Promise<readonly string[]> {
  const addresses = ipFamilyOf(hostname) === undefined ? await resolve(hostname) : [hostname];
  const refused = addresses.find(isLinkLocal);
  if (refused === undefined) return addresses;
  throw new GatewayError(
    "upstream_unreachable",
    message("dns_link_local", { host: hostname, address: refused }),
    { notSent: true, logDetail: `${refused} is link-local` },
  );
}

/** Sends requests to addresses that are not link-local. No redirect is followed. */
export const guardLinkLocal =
  ({ send, resolve, isProxied }: LinkLocalGuardOptions): SendUpstreamRequest =>
  async (request, signal) => {
    const url = new URL(request.url);
    if (isProxied(url)) {
      await resolveAllowed(urlAddress(url).hostname, async () => []);
      return send(request, signal);
    }
    const lookup: Resolve = (host) => resolve(host).catch(() => []);
    const addresses = await resolveAllowed(urlAddress(url).hostname, lookup);
    // The certificate of https proves the host name, and no metadata service has one for it.
    if (url.protocol === "https:" || addresses.length === 0) return send(request, signal);
    return sendToFirst(request, addresses, (pinned) => send(pinned, signal));
  };

/** The first address that accepts a connection. */
async function sendToFirst(
  request: UpstreamRequest,
  addresses: readonly string[],
  send: (request: UpstreamRequest) => Promise<UpstreamResponse>,
): Promise<UpstreamResponse> {
  for (const [at, address] of addresses.entries()) {
    try {
      return await send(pinnedTo(request, address));
    } catch (error) {
      const isUnsent = error instanceof GatewayError && error.details.notSent === true;
      if (!isUnsent || at === addresses.length - 1) throw error;
    }
  }
  return send(request);
}

function pinnedTo(request: UpstreamRequest, address: string): UpstreamRequest {
  const url = new URL(request.url);
  const { host } = url;
  url.hostname = address.includes(":") ? `[${address}]` : address;
  return { ...request, url: url.href, headers: { ...request.headers, host } };
}
