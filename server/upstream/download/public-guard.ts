/**
 * SSRF guard of the webhook endpoints of clients: requests go to public addresses, and to private hosts that the
 * operator trusts. https is not pinned to the checked address: the certificate proves the host name, so a name that
 * leads to another address meanwhile (DNS rebinding) gets no request.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { SendUpstreamRequest } from "../transport/index.ts";
import { DownloadError } from "./download-error.ts";
import { type Resolve, resolvePublicAddresses } from "./ssrf-guard.ts";

interface PublicGuardOptions {
  readonly send: SendUpstreamRequest;
  readonly resolve: Resolve;
  /** Private hosts that are allowed, as `host` or `host:port`. */
  readonly trusted: readonly string[];
}

/** Why the gateway does not connect to the URL. Undefined if it does. */
export async function checkPublicUrl(
  url: URL,
  trusted: readonly string[],
  resolve: Resolve,
): Promise<string | undefined> {
  try {
    await resolvePublicAddresses(url, trusted, resolve);
    return undefined;
  } catch (error) {
    if (error instanceof DownloadError) return error.message;
    throw error;
  }
}

/** No redirect is followed. */
export const guardPublic =
  ({ send, resolve, trusted }: PublicGuardOptions): SendUpstreamRequest =>
  async (request, signal) => {
    const problem = await checkPublicUrl(new URL(request.url), trusted, resolve);
    if (problem === undefined) return send(request, signal);
    throw new GatewayError("upstream_unreachable", `The gateway does not connect: ${problem}.`, {
      notSent: true,
      logDetail: problem,
    });
  };
