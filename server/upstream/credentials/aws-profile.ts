/**
 * A profile of ~/.aws/config and ~/.aws/credentials: static keys, a process that prints keys, single sign-on, or a role
 * that is assumed with another profile.
 */

import type { AwsKeys, CredentialContext, Issued } from "../adapter.ts";
import { assumedRole, webIdentityKeys } from "./aws-assume-role.ts";
import { containerKeys } from "./aws-container.ts";
import { readProfiles, type Section, type Sections } from "./aws-files.ts";
import { instanceKeys } from "./aws-instance.ts";
import { processKeys } from "./aws-process.ts";
import { isSsoProfile, ssoKeys } from "./aws-sso.ts";
import { refused } from "./request-credential.ts";

/** `source_profile` may name another role, and so on. */
const maxRoles = 5;

export async function profileKeys(
  context: CredentialContext,
  name: string,
  region: string,
): Promise<Issued<AwsKeys>>;
export async function profileKeys(
  context: CredentialContext,
  name: string,
  region: string,
  options: { readonly isOptional: boolean },
): Promise<Issued<AwsKeys> | undefined>;
/** With `isOptional`, undefined if the profile does not exist or has no credentials. */
export async function profileKeys(
  context: CredentialContext,
  name: string,
  region: string,
  { isOptional } = { isOptional: false },
): Promise<Issued<AwsKeys> | undefined> {
  const sections = await readProfiles(context.env);
  const found = await keysOf(context, sections, name, region, maxRoles);
  if (found || isOptional) return found;
  throw refused(
    sections.has(`profile ${name}`)
      ? `the AWS profile ${name} has no credentials`
      : `there is no AWS profile ${name}`,
  );
}

async function keysOf(
  context: CredentialContext,
  sections: Sections,
  name: string,
  region: string,
  depth: number,
): Promise<Issued<AwsKeys> | undefined> {
  const profile = sections.get(`profile ${name}`);
  if (!profile) return undefined;
  if (depth === 0) throw refused("more than 5 AWS profiles name each other as source_profile");
  const { role_arn: roleArn } = profile;
  if (roleArn !== undefined) {
    const role = {
      roleArn,
      region: profile.region ?? region,
      externalId: profile.external_id,
      sessionName: profile.role_session_name,
    };
    if (profile.web_identity_token_file !== undefined) {
      const env = {
        ...context.env,
        AWS_ROLE_ARN: roleArn,
        AWS_WEB_IDENTITY_TOKEN_FILE: profile.web_identity_token_file,
        AWS_ROLE_SESSION_NAME: profile.role_session_name,
      };
      return webIdentityKeys({ ...context, env }, role.region);
    }
    const source = await sourceOf(context, sections, name, profile, region, depth);
    return assumedRole(context, source.value, role);
  }
  const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey } = profile;
  if (accessKeyId && secretAccessKey) {
    const sessionToken = profile.aws_session_token;
    return { value: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) } };
  }
  if (isSsoProfile(profile)) return ssoKeys(context, profile, sections);
  if (profile.credential_process) return processKeys(context, profile.credential_process);
  return undefined;
}

async function sourceOf(
  context: CredentialContext,
  sections: Sections,
  name: string,
  profile: Section,
  region: string,
  depth: number,
): Promise<Issued<AwsKeys>> {
  const { source_profile: source, credential_source: place } = profile;
  if (source === name) {
    // A profile may assume its role with its own static keys.
    const { role_arn: _, ...own } = profile;
    const withoutRole = new Map([...sections, [`profile ${name}`, own]]);
    const keys = await keysOf(context, withoutRole, name, region, depth - 1);
    if (keys) return keys;
  } else if (source !== undefined) {
    const keys = await keysOf(context, sections, source, region, depth - 1);
    if (keys) return keys;
  } else if (place === "Ec2InstanceMetadata") return instanceKeys(context);
  else if (place === "EcsContainer") return containerKeys(context);
  else if (place === "Environment") {
    const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = context.env;
    const sessionToken = context.env.AWS_SESSION_TOKEN;
    if (accessKeyId && secretAccessKey)
      return { value: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) } };
  }
  throw refused(
    `the AWS profile ${name} has no source_profile or credential_source with credentials`,
  );
}
