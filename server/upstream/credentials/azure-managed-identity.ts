/**
 * A managed identity of Azure: App Service, Container Apps and Functions name their endpoint in the environment; virtual
 * machines and AKS nodes have the instance metadata service (IMDS).
 */
import type { Credential, Environment, UpstreamRequest } from "../adapter.ts";
import type { AzureAuth } from "./azure-auth.ts";
import { readOauthToken } from "./oauth-token.ts";
import { requestMetadata } from "./request-credential.ts";

const resource = "https://cognitiveservices.azure.com";

/**
 * learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token, "Error handling": 404 and 410
 * while the service is updated, which takes at most 70 seconds.
 */
const startingStatuses = [404, 410];

export const managedIdentityToken = ({ clientId }: AzureAuth): Credential<string> => ({
  issue: async (context) => {
    const { env, now } = context;
    const [service, request] = requestFor(env, clientId ?? env.AZURE_CLIENT_ID);
    const response = await requestMetadata(context, request, service, startingStatuses);
    return readOauthToken(response, now(), service);
  },
});

function requestFor(env: Environment, clientId: string | undefined): [string, UpstreamRequest] {
  const query = { resource, ...(clientId && { client_id: clientId }) };
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header } = env;
  if (endpoint && header) {
    const search = new URLSearchParams({ "api-version": "2019-08-01", ...query });
    return [
      "Azure's managed identity endpoint",
      { url: `${endpoint}?${search}`, headers: { "x-identity-header": header } },
    ];
  }
  const { MSI_ENDPOINT: olderEndpoint, MSI_SECRET: secret } = env;
  if (olderEndpoint && secret) {
    // Azure Machine Learning still has this version of App Service's endpoint.
    const older = { resource, ...(clientId && { clientid: clientId }) };
    const search = new URLSearchParams({ "api-version": "2017-09-01", ...older });
    return [
      "Azure's managed identity endpoint",
      { url: `${olderEndpoint}?${search}`, headers: { secret } },
    ];
  }
  const host = env.AZURE_POD_IDENTITY_AUTHORITY_HOST || "http://169.254.169.254";
  const search = new URLSearchParams({ "api-version": "2018-02-01", ...query });
  const url = `${host.replace(/\/+$/, "")}/metadata/identity/oauth2/token?${search}`;
  return ["Azure's instance metadata service", { url, headers: { metadata: "true" } }];
}
