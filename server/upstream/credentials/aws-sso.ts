/** Keys of a role in IAM Identity Center (single sign-on), with the token that `aws sso login` has stored. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { AwsKeys, CredentialContext, Issued } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import type { Section, Sections } from "./aws-files.ts";
import { issuedKeys } from "./aws-keys.ts";
import { homeOf, readJsonFile } from "./credential-file.ts";
import { refused, requestCredential } from "./request-credential.ts";

const service = "AWS IAM Identity Center";

export const isSsoProfile = (profile: Section): boolean =>
  profile.sso_account_id !== undefined && profile.sso_role_name !== undefined;

export async function ssoKeys(
  context: CredentialContext,
  profile: Section,
  sections: Sections,
): Promise<Issued<AwsKeys>> {
  const { env, now } = context;
  const { sso_session: session, sso_account_id = "", sso_role_name = "" } = profile;
  const start = session === undefined ? profile : sections.get(`sso-session ${session}`);
  // The AWS CLI names the file by the session or, in older profiles, by the URL.
  const name = createHash("sha1")
    .update(session ?? start?.sso_start_url ?? "")
    .digest("hex");
  const path = join(homeOf(env), ".aws", "sso", "cache", `${name}.json`);
  const stored = await readJsonFile(path, "the token of aws sso login,");
  const token = memberOf(stored, "accessToken");
  if (typeof token !== "string" || !(Date.parse(String(memberOf(stored, "expiresAt"))) > now()))
    throw refused("the AWS sign-in has expired: run aws sso login");
  const root = env.AWS_ENDPOINT_URL_SSO || `https://portal.sso.${start?.sso_region}.amazonaws.com`;
  const search = new URLSearchParams({ account_id: sso_account_id, role_name: sso_role_name });
  const request = {
    url: `${root.replace(/\/+$/, "")}/federation/credentials?${search}`,
    headers: { "x-amz-sso_bearer_token": token },
  };
  const response = await requestCredential(context, request, service);
  const keys = memberOf(await response.json(), "roleCredentials");
  return issuedKeys(
    {
      accessKeyId: memberOf(keys, "accessKeyId"),
      secretAccessKey: memberOf(keys, "secretAccessKey"),
      sessionToken: memberOf(keys, "sessionToken"),
      expiration: memberOf(keys, "expiration"),
    },
    now(),
    service,
  );
}
