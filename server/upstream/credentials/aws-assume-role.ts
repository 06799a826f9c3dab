/** Keys of a role, from AWS STS: assumed with other keys, or with a web identity token (IRSA on EKS). */

import type { AwsKeys, CredentialContext, Environment, Issued } from "../adapter.ts";
import { signatureHeaders } from "../adapters/amazon/sigv4.ts";
import { issuedKeys } from "./aws-keys.ts";
import { readCredentialFile } from "./credential-file.ts";
import { refused, requestCredential, xmlText } from "./request-credential.ts";

const service = "AWS STS";
const defaultSessionName = "vexel";
const formType = "application/x-www-form-urlencoded; charset=utf-8";

interface Role {
  readonly roleArn: string;
  readonly region: string;
  readonly externalId?: string | undefined;
  readonly sessionName?: string | undefined;
}

/** `keys` sign the request. */
export async function assumedRole(
  context: CredentialContext,
  keys: AwsKeys,
  { roleArn, region, externalId, sessionName = defaultSessionName }: Role,
): Promise<Issued<AwsKeys>> {
  const url = stsUrl(context.env, region);
  const body = formOf("AssumeRole", {
    RoleArn: roleArn,
    RoleSessionName: sessionName,
    ...(externalId !== undefined && { ExternalId: externalId }),
  });
  const headers = { "content-type": formType };
  const signature = signatureHeaders(
    { method: "POST", url, headers, body },
    { ...keys, region, service: "sts" },
    context.now(),
  );
  return requestKeys(context, url, body, { ...headers, ...signature });
}

/** Only the environment names the file and the role of the pod. Read each time: Kubernetes replaces the token. */
export async function webIdentityKeys(
  context: CredentialContext,
  region: string,
): Promise<Issued<AwsKeys>> {
  const { env } = context;
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: roleArn } = env;
  if (!file || !roleArn)
    throw refused("AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN are not set in the environment");
  const token = await readCredentialFile(file, "AWS_WEB_IDENTITY_TOKEN_FILE");
  const body = formOf("AssumeRoleWithWebIdentity", {
    RoleArn: roleArn,
    RoleSessionName: env.AWS_ROLE_SESSION_NAME || defaultSessionName,
    WebIdentityToken: token.trim(),
  });
  return requestKeys(context, stsUrl(env, region), body, { "content-type": formType });
}

async function requestKeys(
  context: CredentialContext,
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<Issued<AwsKeys>> {
  const response = await requestCredential(context, { url, body, headers }, service);
  const xml = await response.text();
  const member = (name: string) => xmlText(xml, name);
  return issuedKeys(
    {
      accessKeyId: member("AccessKeyId"),
      secretAccessKey: member("SecretAccessKey"),
      sessionToken: member("SessionToken"),
      expiration: member("Expiration"),
    },
    context.now(),
    service,
  );
}

const formOf = (action: string, members: Readonly<Record<string, string>>): string =>
  new URLSearchParams({ Action: action, Version: "2011-06-15", ...members }).toString();

function stsUrl(env: Environment, region: string): string {
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  const url = env.AWS_ENDPOINT_URL_STS || `https://sts.${region}.${domain}`;
  return `${url.replace(/\/+$/, "")}/`;
}
