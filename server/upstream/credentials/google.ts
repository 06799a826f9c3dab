/** Access tokens of Google Cloud, by application default credentials (ADC). */
import { join } from "node:path";
import { z } from "zod";
import type { Credential, CredentialContext, Issued } from "../adapter.ts";
import { type ServiceAccount, serviceAccountToken } from "../adapters/google/account.ts";
import type { Upstream } from "../contract.ts";
import { homeOf, readOptionalFile } from "./credential-file.ts";
import { fileToken } from "./google-file.ts";
import { metadataToken } from "./google-metadata.ts";
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

/** Undefined: `apiKey` is a token or a key of its own. */
export function googleCredential(upstream: Upstream): Credential<string> | undefined {
  const { auth, serviceAccount }: { auth?: GoogleAuth; serviceAccount?: ServiceAccount } =
    upstream.options;
  if (upstream.apiKey !== undefined) return undefined;
  if (auth) return { issue: (context) => fetchToken(auth, context) };
  return serviceAccount && serviceAccountToken(serviceAccount);
}

async function fetchToken(
  { type, file }: GoogleAuth,
  context: CredentialContext,
): Promise<Issued<string>> {
  if (type === "metadata") return metadataToken(context);
  if (type === "file") return fileToken(context, file ?? "");
  const { GOOGLE_APPLICATION_CREDENTIALS: named, CLOUDSDK_CONFIG: folder } = context.env;
  if (named) return fileToken(context, named);
  const gcloud = folder || join(homeOf(context.env), ".config", "gcloud");
  const wellKnown = join(gcloud, "application_default_credentials.json");
  const isThere = (await readOptionalFile(wellKnown, "file")) !== undefined;
  return isThere ? fileToken(context, wellKnown) : metadataToken(context);
}
