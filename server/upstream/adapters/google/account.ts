/** Google service account: exchanges a signed JWT for an access token that is valid for an hour. */
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import type { Credential } from "../../adapter.ts";
import { cloudPlatform } from "../../credentials/google-scope.ts";
import { formRequest, oauthToken } from "../../credentials/oauth-token.ts";
import { signJwt } from "../../credentials/sign-jwt.ts";

/**
 * The members of a key file that matter here. https://developers.google.com/identity/protocols/oauth2/service-account
 */
const keyFile = z.object({
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().optional(),
  token_uri: z.url({ protocol: /^https?$/ }).default("https://oauth2.googleapis.com/token"),
});

export type ServiceAccount = z.output<typeof keyFile>;

/** The text of a key file from a variable. Error messages do not quote it. */
export const serviceAccountText = z
  .string()
  .max(16_384)
  .transform((text, context): ServiceAccount => {
    const account = readKeyFile(text);
    if (typeof account !== "string") return account;
    context.addIssue({ code: "custom", message: account });
    return z.NEVER;
  });

/** An error message if the text is not a key file. */
export function readKeyFile(text: string): ServiceAccount | string {
  try {
    const { data, error } = keyFile.safeParse(JSON.parse(text));
    if (!data)
      return `is not a service account's key file: check its ${String(error.issues[0]?.path[0])}`;
    createPrivateKey(data.private_key);
    return data;
  } catch (error) {
    return error instanceof SyntaxError
      ? "is not JSON: it must be the text of a service account's key file"
      : "contains a private_key that cannot be read";
  }
}

const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const lastsSeconds = 3600;

export const serviceAccountToken = (account: ServiceAccount): Credential<string> =>
  oauthToken(
    (now) =>
      formRequest(account.token_uri, {
        grant_type: grant,
        assertion: signedAssertion(account, Math.floor(now / 1000)),
      }),
    "Google's token service",
  );

function signedAssertion(account: ServiceAccount, seconds: number): string {
  const { client_email, private_key, private_key_id, token_uri } = account;
  const claims = {
    iss: client_email,
    scope: cloudPlatform,
    aud: token_uri,
    iat: seconds,
    exp: seconds + lastsSeconds,
  };
  return signJwt("RS256", private_key_id ? { kid: private_key_id } : {}, claims, private_key);
}
