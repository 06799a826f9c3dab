/** Entra ID tokens for Azure OpenAI and Azure AI Foundry. */
import type { Credential, Environment } from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import type { AzureAuth } from "./azure-auth.ts";
import { readCertificate } from "./azure-certificate.ts";
import { certificateToken, clientSecretToken, workloadIdentityToken } from "./azure-entra.ts";
import { managedIdentityToken } from "./azure-managed-identity.ts";
import { readCredentialFile } from "./credential-file.ts";
import { refused } from "./request-credential.ts";

/** Undefined if the upstream has a static API key. */
export function azureCredential({ options }: Upstream): Credential<string> | undefined {
  const { auth }: { auth?: AzureAuth } = options;
  switch (auth?.type) {
    case undefined:
      return undefined;
    case "default":
      return {
        issue: async (context) => (await fromEnvironment(auth, context.env)).issue(context),
      };
    case "client-secret":
      return clientSecretToken(auth);
    case "certificate":
      return certificateToken(auth);
    case "managed-identity":
      return managedIdentityToken(auth);
    case "workload-identity":
      return workloadIdentityToken(auth);
  }
}

/** The order of DefaultAzureCredential of `@azure/identity` with `AZURE_TOKEN_CREDENTIALS=prod`. */
async function fromEnvironment(auth: AzureAuth, env: Environment): Promise<Credential<string>> {
  const { AZURE_CLIENT_SECRET: clientSecret, AZURE_CLIENT_CERTIFICATE_PATH: path } = env;
  const tenantId = auth.tenantId ?? env.AZURE_TENANT_ID;
  const clientId = auth.clientId ?? env.AZURE_CLIENT_ID;
  if (tenantId && clientId && clientSecret)
    return clientSecretToken({ ...auth, tenantId, clientId, clientSecret });
  if (tenantId && clientId && path) {
    const certificate = readCertificate(
      await readCredentialFile(path, "AZURE_CLIENT_CERTIFICATE_PATH"),
    );
    if (certificate) return certificateToken({ ...auth, tenantId, clientId, certificate });
    throw refused(`AZURE_CLIENT_CERTIFICATE_PATH ${path} is not a certificate and its RSA key`);
  }
  return env.AZURE_FEDERATED_TOKEN_FILE ? workloadIdentityToken(auth) : managedIdentityToken(auth);
}
