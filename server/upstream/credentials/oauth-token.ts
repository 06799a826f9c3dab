/** A token of an OAuth token endpoint, for which one request is sent. */
import type { Credential, Issued, UpstreamRequest, UpstreamResponse } from "../adapter.ts";
import { memberOf } from "../adapters/wire/members.ts";
import { refused, requestCredential } from "./request-credential.ts";

/** `requestAt`: writes the request at a time in Unix milliseconds. `service`: its name, for operators. */
export const oauthToken = (
  requestAt: (now: number) => UpstreamRequest,
  service = "token service",
): Credential<string> => ({
  issue: async (context) => {
    const now = context.now();
    return readOauthToken(await requestCredential(context, requestAt(now), service), now, service);
  },
});

/**
 * The lifetime is a number, at Azure's metadata services a text, and at its App Service only a time (`expires_on`), in
 * older versions as a date. At GigaChat it is a time in milliseconds (`expires_at`).
 */
export async function readOauthToken(
  response: UpstreamResponse,
  now: number,
  service: string,
): Promise<Issued<string>> {
  const body = await response.json();
  const value = memberOf(body, "access_token");
  const date = Date.parse(String(memberOf(body, "expires_on") ?? "")) || undefined;
  const endsAt = numberIn(body, "expires_at") ?? date ?? 0;
  const expiresOn = numberIn(body, "expires_on") ?? endsAt / 1000;
  const seconds = numberIn(body, "expires_in") ?? expiresOn - now / 1000;
  if (typeof value !== "string" || value === "" || !(seconds > 0))
    throw refused(`${service} returned no token`);
  return { value, lastsMs: seconds * 1000 };
}

function numberIn(body: unknown, name: string): number | undefined {
  const value = memberOf(body, name);
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d{1,12}$/.test(value) ? Number(value) : undefined;
}

/** A form, as token endpoints take it. */
export const formRequest = (
  url: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): UpstreamRequest => ({
  url,
  headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
  body: new URLSearchParams(form).toString(),
});

/** Client credentials, with the secret in the header: RFC 6749, sections 2.3.1 and 4.4. */
export const clientCredentialsRequest = (
  url: string,
  { clientId, secret }: { readonly clientId: string; readonly secret: string },
  more: Readonly<Record<string, string>> = {},
): UpstreamRequest =>
  formRequest(
    url,
    { grant_type: "client_credentials", ...more },
    { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString("base64")}` },
  );
