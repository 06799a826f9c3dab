/** Access tokens of Google Cloud, by application default credentials (ADC). */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Credential, CredentialContext, Environment, Issued } from "../adapter.ts";
import {
  readKeyFile,
  type ServiceAccount,
  serviceAccountToken,
} from "../adapters/google/account.ts";
import { memberOf } from "../adapters/wire/members.ts";
import type { Upstream } from "../contract.ts";
import { homeOf, readJsonFile } from "./credential-file.ts";
import { metadataToken } from "./google-metadata.ts";
import { refused } from "./request-credential.ts";
import { requireMembers } from "./require-members.ts";

const schema = z
  .strictObject({
    type: z
      .enum(["default", "file", "metadata"])
      .describe("Credentials of Google Cloud instead of a key: where the gateway gets a token."),
    file: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe("The path of a credential file on the gateway's machine, for the type file."),
  })
  .superRefine(requireMembers({ file: ["file"] }));

type GoogleAuth = z.output<typeof schema>;

export const googleAuth = schema.optional();

interface GoogleOptions {
  readonly auth?: GoogleAuth;
  readonly serviceAccount?: ServiceAccount;
  readonly project?: string;
}

/** Undefined if `apiKey` is a token or a key of its own. */
export function googleCredential(upstream: Upstream): Credential<string> | undefined {
  const { auth, serviceAccount, project }: GoogleOptions = upstream.options;
  if (upstream.apiKey !== undefined) return undefined;
  if (auth) return { issue: (context) => fetchToken(auth, context, project) };
  return serviceAccount && serviceAccountToken(serviceAccount);
}

async function fetchToken(
  { type, file }: GoogleAuth,
  context: CredentialContext,
  project: string | undefined,
): Promise<Issued<string>> {
  const path = type === "default" ? defaultFile(context.env) : file;
  if (path === undefined) return metadataToken(context);
  // Read each time, so that a new key is used without a restart.
  const content = await readJsonFile(path, "the credential file");
  const issued = await tokenOf(content, context);
  const headers = quotaHeaders(content, context.env, project);
  return headers ? { ...issued, headers } : issued;
}

/** Undefined if there is none. */
function defaultFile(env: Environment): string | undefined {
  const { GOOGLE_APPLICATION_CREDENTIALS: named, CLOUDSDK_CONFIG: folder } = env;
  if (named) return named;
  const gcloud = folder || join(homeOf(env), ".config", "gcloud");
  const wellKnown = join(gcloud, "application_default_credentials.json");
  return existsSync(wellKnown) ? wellKnown : undefined;
}

async function tokenOf(file: unknown, context: CredentialContext): Promise<Issued<string>> {
  if (memberOf(file, "type") === "service_account") {
    const account = readKeyFile(JSON.stringify(file));
    if (typeof account === "string") throw refused(`the credential file ${account}`);
    return serviceAccountToken(account).issue(context);
  }
  const { fileToken } = await import("./google-library.ts");
  return fileToken(context, file);
}

/**
 * The quota project goes with every request. A user has none of their own: without one, Google refuses a request whose
 * path names no project, as that of the connection test (google-genai 3.3.0, _api_client.py).
 */
function quotaHeaders(
  file: unknown,
  env: Environment,
  project: string | undefined,
): Issued<string>["headers"] {
  const quotaProject = env.GOOGLE_CLOUD_QUOTA_PROJECT || memberOf(file, "quota_project_id");
  if (typeof quotaProject === "string" && quotaProject !== "")
    return () => ({ "x-goog-user-project": quotaProject });
  if (memberOf(file, "type") !== "authorized_user" || project === undefined) return undefined;
  return ({ url }) => (url.includes("/projects/") ? {} : { "x-goog-user-project": project });
}
