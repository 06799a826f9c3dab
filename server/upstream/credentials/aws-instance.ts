/** Keys of the role of an EC2 instance, from its metadata service with a session token (IMDSv2). */

import type { AwsKeys, CredentialContext, Environment, Issued } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { metadataKeys } from "./aws-keys.ts";
import { refused, requestMetadata } from "./request-credential.ts";

const service = "EC2's instance metadata service";
const path = "/latest/meta-data/iam/security-credentials/";

export async function instanceKeys(context: CredentialContext): Promise<Issued<AwsKeys>> {
  const { env, now } = context;
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === "true")
    throw refused(`no AWS credentials: ${service} is disabled by AWS_EC2_METADATA_DISABLED`);
  const root = rootOf(env);
  const session = await requestMetadata(
    context,
    {
      url: `${root}/latest/api/token`,
      method: "PUT",
      headers: { "x-aws-ec2-metadata-token-ttl-seconds": "21600" },
    },
    service,
  );
  const headers = { "x-aws-ec2-metadata-token": (await session.text()).trim() };
  const roles = await requestMetadata(context, { url: `${root}${path}`, headers }, service);
  const [role = ""] = (await roles.text()).trim().split("\n");
  if (role === "") throw refused(`${service}: the instance has no role`);
  const url = `${root}${path}${encodeURIComponent(role.trim())}`;
  const body = await (await requestMetadata(context, { url, headers }, service)).json();
  const code = memberOf(body, "Code");
  if (typeof code === "string" && code !== "Success") throw refused(`${service}: ${code}`);
  return metadataKeys(body, now(), service);
}

function rootOf(env: Environment): string {
  const isIpv6 = env.AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE?.toLowerCase() === "ipv6";
  const standard = isIpv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  return (env.AWS_EC2_METADATA_SERVICE_ENDPOINT || standard).replace(/\/+$/, "");
}
