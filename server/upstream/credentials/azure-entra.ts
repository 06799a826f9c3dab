/**
 * Client credentials of Entra ID: a secret, an assertion that a certificate signs, or the token of a Kubernetes service
 * account (workload identity). https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
 */

import type { Credential, CredentialContext, Issued } from "../adapter.ts";
import type { AzureAuth } from "./azure-auth.ts";
import type { Certificate } from "./azure-certificate.ts";
import { readCredentialFile } from "./credential-file.ts";
import { formRequest, oauthToken } from "./oauth-token.ts";
import { refused } from "./request-credential.ts";
import { signJwt } from "./sign-jwt.ts";

/** For Azure OpenAI and Foundry alike. */
const scope = "https://cognitiveservices.azure.com/.default";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const assertionSeconds = 600;

const tokenUrlOf = ({ env }: CredentialContext, tenantId: string): string => {
  const host = env.AZURE_AUTHORITY_HOST || "https://login.microsoftonline.com";
  return `${host.replace(/\/+$/, "")}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`;
};

function requestToken(
  context: CredentialContext,
  url: string,
  form: Readonly<Record<string, string>>,
): Promise<Issued<string>> {
  const request = formRequest(url, { grant_type: "client_credentials", scope, ...form });
  return oauthToken(() => request, "Entra ID").issue(context);
}

export const clientSecretToken = ({
  tenantId = "",
  clientId = "",
  clientSecret = "",
}: AzureAuth): Credential<string> => ({
  issue: (context) =>
    requestToken(context, tokenUrlOf(context, tenantId), {
      client_id: clientId,
      client_secret: clientSecret,
    }),
});

/** learn.microsoft.com/entra/identity-platform/certificate-credentials: PS256 and `x5t#S256`. */
export const certificateToken = ({
  tenantId = "",
  clientId = "",
  certificate,
}: AzureAuth): Credential<string> => ({
  issue: (context) => {
    const url = tokenUrlOf(context, tenantId);
    const { privateKey, thumbprint } = certificate as Certificate;
    const seconds = Math.floor(context.now() / 1000);
    const claims = {
      aud: url,
      iss: clientId,
      sub: clientId,
      jti: crypto.randomUUID(),
      nbf: seconds,
      exp: seconds + assertionSeconds,
    };
    return requestToken(context, url, {
      client_id: clientId,
      client_assertion_type: assertionType,
      client_assertion: signJwt("PS256", { "x5t#S256": thumbprint }, claims, privateKey),
    });
  },
});

/**
 * The variables are those of the AKS webhook. The file is read each time: Kubernetes replaces its token every hour. Only
 * the environment names the file, so that no stored upstream can send another file anywhere.
 */
export const workloadIdentityToken = (auth: AzureAuth): Credential<string> => ({
  issue: async (context) => {
    const { env } = context;
    const tenantId = auth.tenantId ?? env.AZURE_TENANT_ID;
    const clientId = auth.clientId ?? env.AZURE_CLIENT_ID;
    const path = env.AZURE_FEDERATED_TOKEN_FILE;
    if (!tenantId || !clientId || !path) {
      const missing = { AZURE_TENANT_ID: tenantId, AZURE_CLIENT_ID: clientId };
      const names = Object.entries({ ...missing, AZURE_FEDERATED_TOKEN_FILE: path })
        .filter(([, value]) => !value)
        .map(([name]) => name);
      throw refused(`workload identity: ${names.join(", ")} not set in the environment`);
    }
    const assertion = await readCredentialFile(path, "AZURE_FEDERATED_TOKEN_FILE");
    return requestToken(context, tokenUrlOf(context, tenantId), {
      client_id: clientId,
      client_assertion_type: assertionType,
      client_assertion: assertion.trim(),
    });
  },
});
