/** Keys of an ECS task or, with EKS Pod Identity, of a Kubernetes pod. */

import type { AwsKeys, CredentialContext, Environment, Issued } from "../adapter.ts";
import { metadataKeys } from "./aws-keys.ts";
import { readCredentialFile } from "./credential-file.ts";
import { refused, requestMetadata } from "./request-credential.ts";

const service = "the container credentials endpoint of AWS";

export const hasContainerVariables = (env: Environment): boolean =>
  Boolean(env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI || env.AWS_CONTAINER_CREDENTIALS_FULL_URI);

export async function containerKeys(context: CredentialContext): Promise<Issued<AwsKeys>> {
  const { env, now } = context;
  const url = urlOf(env);
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE;
  // Read each time: EKS replaces the token.
  const token = file
    ? (await readCredentialFile(file, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")).trim()
    : env.AWS_CONTAINER_AUTHORIZATION_TOKEN;
  const headers = token ? { authorization: token } : {};
  const response = await requestMetadata(context, { url, headers }, service);
  return metadataKeys(await response.json(), now(), service);
}

/** The SDKs send the authorization token without encryption to these hosts only. */
const plainHosts = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "localhost", "[::1]"];

function urlOf(env: Environment): string {
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI;
  if (relative) return `http://169.254.170.2${relative}`;
  const full = env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  if (!full) {
    throw refused(
      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI are not set",
    );
  }
  const url = URL.canParse(full) ? new URL(full) : undefined;
  const isPlainAllowed =
    url?.protocol === "http:" &&
    (plainHosts.includes(url.hostname) || url.hostname.startsWith("127."));
  if (url?.protocol === "https:" || isPlainAllowed) return full;
  throw refused("AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of the container");
}
