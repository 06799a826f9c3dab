/** Reads the response of an OAuth token endpoint: a token and its lifetime. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { TokenExchange, UpstreamRequest, UpstreamResponse } from "../../adapter.ts";
import { memberOf } from "./members.ts";

export const readOauthToken: TokenExchange["fromUpstream"] = async (response: UpstreamResponse) => {
  const body = await response.json();
  const token = memberOf(body, "access_token");
  const seconds = memberOf(body, "expires_in");
  if (typeof token !== "string" || token === "" || !(typeof seconds === "number" && seconds > 0))
    throw new GatewayError(
      "upstream_credentials",
      "The upstream's token service returned no token.",
    );
  return { token, lastsMs: seconds * 1000 };
};

/** Client credentials, with the secret in the header: RFC 6749, sections 2.3.1 and 4.4. */
export const clientCredentialsRequest = (
  url: string,
  { clientId, secret }: { readonly clientId: string; readonly secret: string },
  more: Readonly<Record<string, string>> = {},
): UpstreamRequest => ({
  url,
  headers: {
    authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString("base64")}`,
    "content-type": "application/x-www-form-urlencoded",
  },
  body: new URLSearchParams({ grant_type: "client_credentials", ...more }).toString(),
});
