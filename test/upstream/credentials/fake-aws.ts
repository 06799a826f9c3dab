/** The metadata services of EC2, ECS and EKS, AWS STS, and IAM Identity Center. */
import { createHash, createHmac } from "node:crypto";
import { json, type Received, type Respond } from "./fake-service.ts";

const hour = 3_600_000;

interface Rotating {
  /** Each response has keys with the next number. */
  issued: number;
}

const metadataBody = (state: Rotating, now: () => number) => {
  state.issued += 1;
  return {
    Code: "Success",
    AccessKeyId: `ASIA${state.issued}`,
    SecretAccessKey: "issued-secret",
    Token: `session-${state.issued}`,
    Expiration: new Date(now() + hour).toISOString(),
  };
};

/** IMDSv2 only: a request without a session token gets 401, as on instances that require it. */
export function ec2Metadata(role: string | undefined, now: () => number = Date.now): Respond {
  const state = { issued: 0 };
  const path = "/latest/meta-data/iam/security-credentials/";
  return ({ method, path: asked, headers }) => {
    if (asked === "/latest/api/token") {
      const ttl = Number(headers.get("x-aws-ec2-metadata-token-ttl-seconds"));
      if (method !== "PUT" || !(ttl >= 1 && ttl <= 21_600))
        return new Response("", { status: 400 });
      return new Response("imds-session");
    }
    if (headers.get("x-aws-ec2-metadata-token") !== "imds-session")
      return new Response("", { status: 401 });
    if (asked === path && role !== undefined) return new Response(role);
    return asked === `${path}${role}`
      ? json(metadataBody(state, now))
      : new Response("<html>404 - Not Found</html>", { status: 404 });
  };
}

export function containerCredentials(token: () => string, now: () => number = Date.now): Respond {
  const state = { issued: 0 };
  return ({ headers }) =>
    headers.get("authorization") === token()
      ? json(metadataBody(state, now))
      : json({ code: "InvalidToken", message: "The token is not valid" }, 401);
}

interface StsOptions {
  readonly webIdentity?: (token: string) => boolean;
  readonly signers?: Readonly<Record<string, string>>;
  readonly externalId?: string;
  readonly now?: () => number;
}

const stsError = (code: string, message: string, status: number): Response =>
  new Response(
    `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>1</RequestId></ErrorResponse>`,
    { status, headers: { "content-type": "text/xml" } },
  );

export function sts({
  webIdentity,
  signers = {},
  externalId,
  now = Date.now,
}: StsOptions): Respond {
  let issued = 0;
  return (received) => {
    const { form } = received;
    const action = form.get("Action");
    if (form.get("Version") !== "2011-06-15")
      return stsError("InvalidAction", "Unknown version", 400);
    if (
      action === "AssumeRoleWithWebIdentity" &&
      !webIdentity?.(form.get("WebIdentityToken") ?? "")
    )
      return stsError("InvalidIdentityToken", "Incorrect token audience", 400);
    if (action === "AssumeRole" && !isSigned(received, signers))
      return stsError("SignatureDoesNotMatch", "The signature does not match.", 403);
    if (
      action === "AssumeRole" &&
      externalId !== undefined &&
      form.get("ExternalId") !== externalId
    )
      return stsError("AccessDenied", "User is not authorized to perform: sts:AssumeRole", 403);
    issued += 1;
    const until = new Date(now() + hour).toISOString();
    return new Response(
      `<${action}Response><${action}Result><Credentials><AccessKeyId>ASIAROLE${issued}</AccessKeyId><SecretAccessKey>role/secret+</SecretAccessKey><SessionToken>role-session-${issued}</SessionToken><Expiration>${until}</Expiration></Credentials></${action}Result></${action}Response>`,
      { headers: { "content-type": "text/xml" } },
    );
  };
}

/** Computes the signature again with the secret that belongs to the key: AWS Signature Version 4. */
function isSigned(
  { method, headers, body, path, query }: Received,
  signers: Readonly<Record<string, string>>,
): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/((\d+)\/([^/]+)\/sts\/aws4_request), ?SignedHeaders=([^,]+), ?Signature=(\w+)$/;
  const [, key = "", scope = "", date = "", region = "", names = "", signature] =
    pattern.exec(headers.get("authorization") ?? "") ?? [];
  const signed = names.split(";");
  const request = [
    ...[method, path, query.toString()],
    ...signed.map((name) => `${name}:${headers.get(name)?.trim()}`),
    ...["", names, sha256(body)],
  ].join("\n");
  const text = ["AWS4-HMAC-SHA256", headers.get("x-amz-date"), scope, sha256(request)].join("\n");
  const signing = [date, region, "sts", "aws4_request"].reduce<string | Buffer>(
    (secret, part) => createHmac("sha256", secret).update(part).digest(),
    `AWS4${signers[key]}`,
  );
  return (
    key in signers &&
    signed.includes("host") &&
    createHmac("sha256", signing).update(text).digest("hex") === signature
  );
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

export function identityCenter(token: string, now: () => number = Date.now): Respond {
  return ({ path, query, headers }) => {
    if (headers.get("x-amz-sso_bearer_token") !== token)
      return json(
        { __type: "UnauthorizedException", message: "Session token not found or invalid" },
        401,
      );
    if (path !== "/federation/credentials" || query.get("role_name") !== "Reader")
      return json({ message: "No access" }, 403);
    return json({
      roleCredentials: {
        accessKeyId: `ASIASSO${query.get("account_id")}`,
        secretAccessKey: "sso-secret",
        sessionToken: "sso-session",
        expiration: now() + hour,
      },
    });
  };
}
