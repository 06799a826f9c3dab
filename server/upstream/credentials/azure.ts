/** Entra ID tokens for Azure OpenAI and Azure AI Foundry. */
import type { Credential } from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import type { AzureAuth } from "./azure-auth.ts";
import { certificateToken, clientSecretToken, workloadIdentityToken } from "./azure-entra.ts";
import { managedIdentityToken } from "./azure-managed-identity.ts";

/** Undefined: the upstream has a static API key. */
export function azureCredential({ options }: Upstream): Credential<string> | undefined {
  const { auth }: { auth?: AzureAuth } = options;
  switch (auth?.type) {
    case undefined:
      return undefined;
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
