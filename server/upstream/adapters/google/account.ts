/** Google service account: exchanges a signed JWT for an access token that is valid for an hour. */
import { createPrivateKey, sign } from "node:crypto";
import { z } from "zod";
import type { TokenExchange } from "../../adapter.ts";
import { readOauthToken } from "../wire/oauth-token.ts";

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
function readKeyFile(text: string): ServiceAccount | string {
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

const scope = "https://www.googleapis.com/auth/cloud-platform";
const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const lastsSeconds = 3600;

export const serviceAccountExchange = (account: ServiceAccount): TokenExchange => ({
  toUpstream: (_upstream, now) => ({
    url: account.token_uri,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: grant,
      assertion: signedAssertion(account, Math.floor(now / 1000)),
    }).toString(),
  }),
  fromUpstream: readOauthToken,
});

/** A JSON Web Token, signed with RS256. */
function signedAssertion(account: ServiceAccount, seconds: number): string {
  const { client_email, private_key, private_key_id, token_uri } = account;
  const head = { alg: "RS256", typ: "JWT", ...(private_key_id && { kid: private_key_id }) };
  const claims = {
    iss: client_email,
    scope,
    aud: token_uri,
    iat: seconds,
    exp: seconds + lastsSeconds,
  };
  const text = `${encoded(JSON.stringify(head))}.${encoded(JSON.stringify(claims))}`;
  return `${text}.${encoded(sign("RSA-SHA256", Buffer.from(text), private_key))}`;
}

const encoded = (content: string | Buffer): string => Buffer.from(content).toString("base64url");
