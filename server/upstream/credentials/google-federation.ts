/**
 * Workload identity federation: the token of another identity provider is exchanged at Google's STS and, if the file
 * says so, for the token of a service account. https://google.aip.dev/auth/4117
 */
import { z } from "zod";
import type { CredentialContext, Issued } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { readCredentialFile } from "./credential-file.ts";
import { cloudPlatform } from "./google-scope.ts";
import { formRequest, oauthToken } from "./oauth-token.ts";
import { refused, requestCredential, requestMetadata } from "./request-credential.ts";

const url = z.url({ protocol: /^https?$/ });

const externalAccount = z.object({
  audience: z.string().min(1),
  subject_token_type: z.string().min(1),
  token_url: url,
  service_account_impersonation_url: url.optional(),
  service_account_impersonation: z
    .object({ token_lifetime_seconds: z.number().optional() })
    .optional(),
  credential_source: z.object({
    file: z.string().optional(),
    url: url.optional(),
    headers: z.record(z.string(), z.string()).optional(),
    format: z
      .object({ type: z.enum(["text", "json"]), subject_token_field_name: z.string().optional() })
      .optional(),
  }),
});

type ExternalAccount = z.output<typeof externalAccount>;

export async function federatedToken(
  context: CredentialContext,
  file: unknown,
): Promise<Issued<string>> {
  const { data: account, error } = externalAccount.safeParse(file);
  if (!account)
    throw refused(`the credential file has no valid ${error.issues[0]?.path.join(".")}`);
  const request = formRequest(account.token_url, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    audience: account.audience,
    scope: cloudPlatform,
    requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
    subject_token: await subjectToken(context, account.credential_source),
    subject_token_type: account.subject_token_type,
  });
  const issued = await oauthToken(() => request, "Google's STS").issue(context);
  return account.service_account_impersonation_url === undefined
    ? issued
    : impersonatedToken(context, account, issued.value);
}

async function subjectToken(
  context: CredentialContext,
  source: ExternalAccount["credential_source"],
): Promise<string> {
  const { file, url, headers = {}, format } = source;
  if (file === undefined && url === undefined)
    throw refused("the credential_source of the credential file must be a file or a url");
  const text =
    file !== undefined
      ? await readCredentialFile(file, "the subject token")
      : await (
          await requestMetadata(context, { url: url ?? "", headers }, "the subject token's URL")
        ).text();
  if (format?.type !== "json") return text.trim();
  const name = format.subject_token_field_name ?? "";
  const token = memberOf(parsed(text), name);
  if (typeof token !== "string") throw refused(`the subject token has no member ${name}`);
  return token;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refused("the subject token is not JSON");
  }
}

async function impersonatedToken(
  context: CredentialContext,
  account: ExternalAccount,
  token: string,
): Promise<Issued<string>> {
  const seconds = account.service_account_impersonation?.token_lifetime_seconds ?? 3600;
  const request = {
    url: account.service_account_impersonation_url ?? "",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ scope: [cloudPlatform], lifetime: `${seconds}s` }),
  };
  const response = await requestCredential(context, request, "Google's IAM credentials service");
  const body = await response.json();
  const [value, expires] = [memberOf(body, "accessToken"), memberOf(body, "expireTime")];
  if (typeof value !== "string")
    throw refused("Google's IAM credentials service returned no token");
  const lastsMs = Date.parse(String(expires)) - context.now();
  // Without a time that can be read, the token lasts as long as was asked for.
  return { value, lastsMs: Number.isNaN(lastsMs) ? seconds * 1000 : lastsMs };
}
