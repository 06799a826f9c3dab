/** Entra ID, the instance metadata service of Azure, and the identity endpoint of App Service. */
import { json, type Received, type Respond } from "./fake-service.ts";

export const azureIds = { tenant: "tenant-1", client: "client-1", secret: "entra-secret-1" };
const resource = "https://cognitiveservices.azure.com";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** `assertion`: whether a client assertion is valid. The description is that of the real service. */
export function entra(assertion: (text: string) => boolean = () => false): Respond {
  let issued = 0;
  return ({ path, form }) => {
    const refuse = (code: string, error_description: string, status = 401) =>
      json({ error: code, error_description, error_codes: [7000215] }, status);
    if (path !== `/${azureIds.tenant}/oauth2/v2.0/token`)
      return refuse("invalid_tenant", "AADSTS90002: Tenant 'x' not found.", 400);
    if (form.get("scope") !== `${resource}/.default`)
      return refuse(
        "invalid_scope",
        "AADSTS70011: The provided value for scope is not valid.",
        400,
      );
    const isProven =
      form.get("client_secret") === azureIds.secret ||
      (form.get("client_assertion_type") === assertionType &&
        assertion(form.get("client_assertion") ?? ""));
    if (form.get("client_id") !== azureIds.client || !isProven)
      return refuse("invalid_client", "AADSTS7000215: Invalid client secret provided.");
    issued += 1;
    return json({ token_type: "Bearer", expires_in: 3599, access_token: `entra-token-${issued}` });
  };
}

const wrongResource = ({ query }: Received): boolean => query.get("resource") !== resource;

export function azureMetadata(now: () => number = Date.now): Respond {
  return (received) => {
    const { path, query, headers } = received;
    if (headers.get("metadata") !== "true")
      return json(
        { error: "invalid_request", error_description: "Required metadata header not specified" },
        400,
      );
    if (path !== "/metadata/identity/oauth2/token" || query.get("api-version") !== "2018-02-01")
      return json({ error: "bad_request" }, 400);
    if (wrongResource(received))
      return json(
        {
          error: "invalid_resource",
          error_description: "AADSTS500011: The resource was not found",
        },
        400,
      );
    const clientId = query.get("client_id") ?? "system";
    if (clientId === "unknown")
      return json({ error: "invalid_request", error_description: "Identity not found" }, 400);
    return json({
      access_token: `imds-token-${clientId}`,
      expires_in: "86399",
      expires_on: String(Math.floor(now() / 1000) + 86_399),
      token_type: "Bearer",
    });
  };
}

/** It reports only the time at which the token ends. */
export function appService(secret: string, now: () => number = Date.now): Respond {
  return (received) => {
    const { query, headers } = received;
    if (headers.get("x-identity-header") !== secret)
      return json({ statusCode: 401, message: "Unauthorized" }, 401);
    if (query.get("api-version") !== "2019-08-01" || wrongResource(received)) return json({}, 400);
    return json({
      access_token: "app-service-token",
      expires_on: String(Math.floor(now() / 1000) + 7200),
      token_type: "Bearer",
    });
  };
}
