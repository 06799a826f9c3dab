/** The metadata server of Compute Engine, Google's STS, and its IAM credentials service. */
import { json, type Respond } from "./fake-service.ts";

const scope = "https://www.googleapis.com/auth/cloud-platform";

export const gceMetadata: Respond = ({ path, query, headers }) => {
  const flavor = { "metadata-flavor": "Google" };
  if (headers.get("metadata-flavor") !== "Google") return json({ error: "forbidden" }, 403, flavor);
  if (path !== "/computeMetadata/v1/instance/service-accounts/default/token")
    return json(
      { error: "not_found", error_description: "The service account was not found." },
      404,
      flavor,
    );
  return query.get("scopes") === scope
    ? json({ access_token: "gce-token", expires_in: 3599, token_type: "Bearer" }, 200, flavor)
    : json({ error: "invalid_scope" }, 400, flavor);
};

export const federation = {
  audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k",
  subject: "urn:ietf:params:oauth:token-type:jwt",
};

export const googleSts =
  (isValid: (token: string) => boolean): Respond =>
  ({ path, form, headers, body }) => {
    if (path === "/impersonate-without-time") return json({ accessToken: "impersonated" });
    if (path === "/impersonate") {
      const { scope: asked } = JSON.parse(body) as { scope?: unknown };
      return headers.get("authorization") === "Bearer federated" && String(asked) === scope
        ? json({ accessToken: "impersonated", expireTime: new Date(Date.now() + 3_600_000) })
        : json(
            {
              error: {
                code: 403,
                status: "PERMISSION_DENIED",
                message: "Permission 'iam.serviceAccounts.getAccessToken' denied",
              },
            },
            403,
          );
    }
    if (form.get("audience") !== federation.audience)
      return json(
        {
          error: "invalid_target",
          error_description: "The target service indicated by the audience is invalid.",
        },
        400,
      );
    if (
      form.get("subject_token_type") !== federation.subject ||
      !isValid(form.get("subject_token") ?? "")
    )
      return json(
        {
          error: "invalid_grant",
          error_description: "The audience in ID Token does not match the expected audience.",
        },
        400,
      );
    return json({ access_token: "federated", expires_in: 3600, token_type: "Bearer" });
  };
