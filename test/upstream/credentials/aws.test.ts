/** Keys of AWS for Bedrock and SageMaker: every source, its order, and what the operator learns if one fails. */
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type { Environment } from "../../../server/upstream/adapter.ts";
import { bedrock } from "../../../server/upstream/adapters/amazon/bedrock.ts";
import { temporaryFolder } from "../../harness.ts";
import { containerCredentials, ec2Metadata, identityCenter, sts } from "./fake-aws.ts";
import { contextWith, startService, stopServices } from "./fake-service.ts";

afterAll(stopServices);

const now = () => Date.parse("2026-11-17T12:00:00Z");
const hour = 3_600_000;
const nowhere = { HOME: "/nonexistent" };

function fetchWith(auth: Record<string, unknown>, env: Environment, own: object = {}) {
  const read = bedrock.kind.options.auth?.parse(auth);
  const options = { region: "eu-west-1", auth: read, ...own };
  const upstream = { id: "bedrock", kind: "bedrock", headers: {}, options };
  const credential = bedrock.adapter.credential?.(upstream);
  if (!credential) throw new Error("no credential");
  return credential.issue(contextWith({ ...nowhere, ...env }, now));
}

async function detailOf(doing: Promise<unknown>): Promise<string> {
  const error = await doing.catch((thrown: unknown) => thrown);
  if (!(error instanceof GatewayError)) throw new Error(`no GatewayError but ${String(error)}`);
  expect(error.kind).toBe("upstream_credentials");
  return error.details.logDetail ?? "";
}

const issued = (accessKeyId: string, secretAccessKey: string, sessionToken: string) => ({
  value: { accessKeyId, secretAccessKey, sessionToken },
  lastsMs: hour,
});

describe("an EC2 instance", () => {
  test("gives the keys of its role through IMDSv2", async () => {
    const service = startService(ec2Metadata("gateway-role", now));
    const env = { AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url };
    expect(await fetchWith({ type: "instance" }, env)).toEqual(
      issued("ASIA1", "issued-secret", "session-1"),
    );
    expect(service.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "PUT /latest/api/token",
      "GET /latest/meta-data/iam/security-credentials/",
      "GET /latest/meta-data/iam/security-credentials/gateway-role",
    ]);
  });

  test("that throttles is asked again, and one without a role is an error", async () => {
    const service = startService(ec2Metadata("gateway-role", now));
    service.next.push(new Response("", { status: 503 }));
    const env = { AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url };
    expect(await fetchWith({ type: "instance" }, env)).toMatchObject({ lastsMs: hour });
    const roleless = startService(ec2Metadata(undefined, now));
    const without = { AWS_EC2_METADATA_SERVICE_ENDPOINT: roleless.url };
    expect(await detailOf(fetchWith({ type: "instance" }, without))).toContain("status 404");
  });
});

describe("a container", () => {
  test("gives the keys of its task", async () => {
    const service = startService(containerCredentials(() => "ecs-token", now));
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.url}/creds`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "ecs-token",
    };
    expect((await fetchWith({ type: "container" }, env)).lastsMs).toBe(hour);
  });

  test("of EKS Pod Identity gives keys for a token that is replaced", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "token");
    let current = "pod-1";
    const service = startService(containerCredentials(() => current, now));
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: service.url,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    };
    for (const token of ["pod-1", "pod-2"]) {
      current = token;
      writeFileSync(file, token);
      expect((await fetchWith({ type: "container" }, env)).lastsMs).toBe(hour);
    }
    current = "pod-3";
    expect(await detailOf(fetchWith({ type: "container" }, env))).toContain("InvalidToken");
  });

  test("never gets its token over plain http at another host", async () => {
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://203.0.113.9/creds",
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "ecs-token",
    };
    expect(await detailOf(fetchWith({ type: "container" }, env))).toContain("must be https");
  });
});

describe("a web identity (IRSA)", () => {
  test("is exchanged at STS, without a signature, and read again when it is replaced", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "token");
    const service = startService(sts({ webIdentity: (token) => token === "irsa-2", now }));
    const env = {
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/gateway",
      AWS_ENDPOINT_URL_STS: service.url,
    };
    writeFileSync(file, "irsa-1");
    expect(await detailOf(fetchWith({ type: "web-identity" }, env))).toBe(
      "AWS STS: status 400, InvalidIdentityToken: Incorrect token audience",
    );
    writeFileSync(file, "irsa-2\n");
    expect(await fetchWith({ type: "default" }, env)).toEqual(
      issued("ASIAROLE1", "role/secret+", "role-session-1"),
    );
    expect(service.received.at(-1)?.headers.get("authorization")).toBeNull();
  });
});

describe("a role", () => {
  const auth = {
    type: "access-key",
    roleArn: "arn:aws:iam::123456789012:role/models",
    externalId: "otters",
  };
  const own = { accessKeyId: "AKIAOWN", secretAccessKey: "own-secret" };

  test("is assumed with the upstream's own keys and the external id", async () => {
    const service = startService(
      sts({ signers: { AKIAOWN: "own-secret" }, externalId: "otters", now }),
    );
    const env = { AWS_ENDPOINT_URL_STS: service.url };
    expect(await fetchWith(auth, env, own)).toEqual(
      issued("ASIAROLE1", "role/secret+", "role-session-1"),
    );
    const other = { ...auth, externalId: "badgers" };
    expect(await detailOf(fetchWith(other, env, own))).toContain("AccessDenied");
    const wrong = { ...own, secretAccessKey: "another" };
    expect(await detailOf(fetchWith(auth, env, wrong))).toContain("SignatureDoesNotMatch");
  });

  test("is assumed with the keys of an instance", async () => {
    const metadata = startService(ec2Metadata("gateway-role", now));
    const service = startService(sts({ signers: { ASIA1: "issued-secret" }, now }));
    const env = {
      AWS_ENDPOINT_URL_STS: service.url,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url,
    };
    const { value } = await fetchWith({ ...auth, type: "instance" }, env);
    expect(value).toMatchObject({ accessKeyId: "ASIAROLE1" });
    expect(service.received[0]?.headers.get("x-amz-security-token")).toBe("session-1");
  });
});

describe("a profile", () => {
  function homeWith(config: string, credentials = ""): { path: string; [Symbol.dispose](): void } {
    const folder = temporaryFolder();
    mkdirSync(join(folder.path, ".aws", "sso", "cache"), { recursive: true });
    writeFileSync(join(folder.path, ".aws", "config"), config);
    writeFileSync(join(folder.path, ".aws", "credentials"), credentials);
    return folder;
  }

  test("has static keys, which the default chain finds after those of the environment", async () => {
    using home = homeWith(
      "[default]\nregion = eu-west-1\ns3 =\n  aws_access_key_id = no\n",
      [
        "[default]",
        "aws_access_key_id = AKIAFILE ; mine",
        "aws_secret_access_key = file=secret",
      ].join("\n"),
    );
    const env = { HOME: home.path };
    const file = { value: { accessKeyId: "AKIAFILE", secretAccessKey: "file=secret" } };
    expect(await fetchWith({ type: "default" }, env)).toEqual(file);
    const both = { ...env, AWS_ACCESS_KEY_ID: "AKIAENV", AWS_SECRET_ACCESS_KEY: "env-secret" };
    expect((await fetchWith({ type: "default" }, both)).value).toMatchObject({
      accessKeyId: "AKIAENV",
    });
    const named = { ...both, AWS_PROFILE: "default" };
    expect(await fetchWith({ type: "default" }, named)).toEqual(file);
    expect(await detailOf(fetchWith({ type: "profile", profile: "other" }, env))).toBe(
      "there is no AWS profile other",
    );
  });

  test("names a program that prints keys", async () => {
    const printed = {
      Version: 1,
      AccessKeyId: "AKIAPROC",
      SecretAccessKey: "printed",
      Expiration: "2026-11-17T13:00:00Z",
    };
    using home = homeWith(
      `[profile p]\ncredential_process = echo '${JSON.stringify(printed)}'\n[profile bad]\ncredential_process = echo secret-output; exit 3\n`,
    );
    const env = { ...process.env, HOME: home.path };
    expect(await fetchWith({ type: "profile", profile: "p" }, env)).toEqual({
      value: { accessKeyId: "AKIAPROC", secretAccessKey: "printed" },
      lastsMs: hour,
    });
    expect(await detailOf(fetchWith({ type: "profile", profile: "bad" }, env))).toBe(
      "credential_process failed (3)",
    );
  });

  test("uses single sign-on with the token of aws sso login, and says when it has expired", async () => {
    using home = homeWith(
      "[profile p]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Reader\n[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.awsapps.com/start\n",
    );
    const name = createHash("sha1").update("corp").digest("hex");
    const path = join(home.path, ".aws", "sso", "cache", `${name}.json`);
    const service = startService(identityCenter("sso-token", now));
    const env = { HOME: home.path, AWS_ENDPOINT_URL_SSO: service.url };
    const store = (accessToken: string, expiresAt: string) =>
      writeFileSync(path, JSON.stringify({ accessToken, expiresAt }));
    store("sso-token", "2026-11-17T13:00:00Z");
    expect(await fetchWith({ type: "profile", profile: "p" }, env)).toEqual(
      issued("ASIASSO123456789012", "sso-secret", "sso-session"),
    );
    store("sso-token", "2026-11-17T11:00:00Z");
    expect(await detailOf(fetchWith({ type: "profile", profile: "p" }, env))).toBe(
      "the AWS sign-in has expired: run aws sso login",
    );
    store("revoked", "2026-11-17T13:00:00Z");
    expect(await detailOf(fetchWith({ type: "profile", profile: "p" }, env))).toContain(
      "Session token not found or invalid",
    );
  });

  test("assumes a role with another profile, and a circle of profiles is an error", async () => {
    using home = homeWith(
      "[profile p]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = keys\nexternal_id = otters\n[profile a]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = b\n[profile b]\nrole_arn = arn:aws:iam::1:role/b\nsource_profile = a\n",
      "[keys]\naws_access_key_id = AKIAKEYS\naws_secret_access_key = keys-secret\n",
    );
    const service = startService(
      sts({ signers: { AKIAKEYS: "keys-secret" }, externalId: "otters", now }),
    );
    const env = { HOME: home.path, AWS_ENDPOINT_URL_STS: service.url };
    const { value } = await fetchWith({ type: "profile", profile: "p" }, env);
    expect(value).toMatchObject({ accessKeyId: "ASIAROLE1" });
    expect(await detailOf(fetchWith({ type: "profile", profile: "a" }, env))).toContain(
      "more than 5",
    );
  });
});
