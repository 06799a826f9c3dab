/** The access token of a machine's service account, from the metadata server of Compute Engine, GKE and Cloud Run. */
import type { CredentialContext, Issued } from "../adapter.ts";
import { cloudPlatform } from "./google-scope.ts";
import { readOauthToken } from "./oauth-token.ts";
import { refused, requestMetadata } from "./request-credential.ts";

const service = "Google's metadata server";

export async function metadataToken(context: CredentialContext): Promise<Issued<string>> {
  const host = context.env.GCE_METADATA_HOST || "metadata.google.internal.";
  const search = new URLSearchParams({ scopes: cloudPlatform });
  const path = "/computeMetadata/v1/instance/service-accounts/default/token";
  const request = {
    url: `http://${host}${path}?${search}`,
    headers: { "metadata-flavor": "Google" },
  };
  const response = await requestMetadata(context, request, service);
  // Another server at this address, such as a captive portal, does not send the header.
  if (response.headers.get("metadata-flavor") !== "Google")
    throw refused(`${host} is not ${service}`);
  return readOauthToken(response, context.now(), service);
}
