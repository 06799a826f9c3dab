/** A credential file of Google Cloud: the key of a service account, a federation, or a user who signed in by gcloud. */

import type { CredentialContext, Issued } from "../adapter.ts";
import { readKeyFile, serviceAccountToken } from "../adapters/google/account.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { readJsonFile } from "./credential-file.ts";
import { federatedToken } from "./google-federation.ts";
import { formRequest, oauthToken } from "./oauth-token.ts";
import { refused } from "./request-credential.ts";

/** Read each time, so that a new key is used without a restart. */
export async function fileToken(context: CredentialContext, path: string): Promise<Issued<string>> {
  const file = await readJsonFile(path, "the credential file");
  const type = memberOf(file, "type");
  switch (type) {
    case "service_account":
      return accountToken(context, file);
    case "external_account":
      return federatedToken(context, file);
    case "authorized_user":
      return userToken(context, file);
    default:
      throw refused(`credential files of type ${JSON.stringify(type)} are not supported`);
  }
}

async function accountToken(context: CredentialContext, file: unknown): Promise<Issued<string>> {
  const account = readKeyFile(JSON.stringify(file));
  if (typeof account === "string") throw refused(`the credential file ${account}`);
  return serviceAccountToken(account).issue(context);
}

/**
 * `gcloud auth application-default login`. The APIs of a user are those of a quota project, which the file names:
 * google-genai 3.3.0, _api_client.py, sends it with every request, and without it Google refuses a path that names no
 * project, as that of the connection test.
 */
async function userToken(context: CredentialContext, file: unknown): Promise<Issued<string>> {
  const member = (name: string): string => String(memberOf(file, name) ?? "");
  const url = member("token_uri") || "https://oauth2.googleapis.com/token";
  const request = formRequest(url, {
    grant_type: "refresh_token",
    client_id: member("client_id"),
    client_secret: member("client_secret"),
    refresh_token: member("refresh_token"),
  });
  const issued = await oauthToken(() => request, "Google's token service").issue(context);
  const quotaProject = member("quota_project_id");
  return quotaProject === ""
    ? issued
    : { ...issued, headers: { "x-goog-user-project": quotaProject } };
}
