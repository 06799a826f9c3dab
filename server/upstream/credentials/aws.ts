/** Keys of AWS, from the same sources and in the same order as the AWS SDKs. */
import { z } from "zod";
import type { AwsKeys, Credential, CredentialContext, Issued } from "../adapter.ts";
import type { Upstream } from "../contract.ts";
import { assumedRole, webIdentityKeys } from "./aws-assume-role.ts";
import { containerKeys, hasContainerVariables } from "./aws-container.ts";
import { instanceKeys } from "./aws-instance.ts";
import { profileKeys } from "./aws-profile.ts";
import { refused } from "./request-credential.ts";
import { requireMembers } from "./require-members.ts";

const name = (max: number, pattern: RegExp, message: string) =>
  z.string().min(1).max(max).regex(pattern, message).optional();

const schema = z
  .strictObject({
    type: z
      .enum(["default", "profile", "web-identity", "container", "instance", "access-key"])
      .describe("Credentials of AWS instead of static keys: where the gateway gets them."),
    profile: name(200, /^[^[\]\r\n]+$/, "must not contain brackets or line breaks").describe(
      "The profile in the AWS files of the gateway's machine, for the type profile.",
    ),
    roleArn: name(2048, /^arn:[\w+=,.@:/-]+$/, "must be the ARN of a role").describe(
      "A role that is assumed with these credentials.",
    ),
    externalId: name(
      1224,
      /^[\w+=,.@:/-]+$/,
      "must have only letters, digits and + = , . @ : / - _",
    ).describe("The external id that the role requires."),
    sessionName: name(
      64,
      /^[\w+=,.@-]+$/,
      "must have only letters, digits and + = , . @ - _",
    ).describe("The name of the role's session in CloudTrail. Absent: vexel."),
  })
  .superRefine(requireMembers({ profile: ["profile"], "access-key": ["roleArn"] }));

type AwsAuth = z.output<typeof schema>;

export const awsAuth = schema.optional();

/** Undefined: the upstream has a static key. */
export function awsCredential({ options, apiKey }: Upstream): Credential<AwsKeys> | undefined {
  const {
    auth,
    region = "",
    ...own
  }: { auth?: AwsAuth; region?: string } & Partial<AwsKeys> = options;
  if (!auth || apiKey !== undefined) return undefined;
  const source = (context: CredentialContext) => keysOf(auth, region, own, context);
  const { roleArn } = auth;
  return {
    issue:
      roleArn === undefined
        ? source
        : async (context) =>
            assumedRole(context, (await source(context)).value, { ...auth, roleArn, region }),
  };
}

async function keysOf(
  { type, profile }: AwsAuth,
  region: string,
  own: Partial<AwsKeys>,
  context: CredentialContext,
): Promise<Issued<AwsKeys>> {
  switch (type) {
    case "default":
      return defaultChain(region, context);
    case "profile":
      return profileKeys(context, profile ?? "default", region);
    case "web-identity":
      return webIdentityKeys(context, region);
    case "container":
      return containerKeys(context);
    case "instance":
      return instanceKeys(context);
    case "access-key": {
      const { accessKeyId, secretAccessKey, sessionToken } = own;
      if (!accessKeyId || !secretAccessKey)
        throw refused("auth type access-key needs accessKeyId and secretAccessKey");
      return { value: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) } };
    }
  }
}

/** The order of `@aws-sdk/credential-provider-node`, defaultProvider. */
async function defaultChain(region: string, context: CredentialContext): Promise<Issued<AwsKeys>> {
  const { env } = context;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (accessKeyId && secretAccessKey && !env.AWS_PROFILE) {
    const sessionToken = env.AWS_SESSION_TOKEN;
    const endsAt = Date.parse(env.AWS_CREDENTIAL_EXPIRATION ?? "");
    return {
      value: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) },
      ...(endsAt && { lastsMs: endsAt - context.now() }),
    };
  }
  const fromProfile = await profileKeys(context, env.AWS_PROFILE || "default", region, {
    isOptional: !env.AWS_PROFILE,
  });
  if (fromProfile) return fromProfile;
  if (env.AWS_WEB_IDENTITY_TOKEN_FILE && env.AWS_ROLE_ARN) return webIdentityKeys(context, region);
  if (hasContainerVariables(env)) return containerKeys(context);
  return instanceKeys(context);
}
