/** Keys of AWS for Bedrock and SageMaker: every source, its order, and what the operator learns if one fails. */
import { afterAll, describe, expect, test } from "bun:test";
import { createHash, generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type { Environment } from "../../../server/upstream/adapter.ts";
import { bedrock } from "../../../server/upstream/adapters/amazon/bedrock.ts";
import { temporaryFolder } from "../../harness.ts";
import { inEnvironment } from "./cloud-environment.ts";
import { containerCredentials, ec2Metadata, identityCenter, sts } from "./fake-aws.ts";
import { contextWith, json, startService, stopServices } from "./fake-service.ts";

afterAll(stopServices);

const hour = 3_600_000;
const inOneHour = () => new Date(Date.now() + hour).toISOString();
const nowhere = { HOME: "/nonexistent" };

function fetchWith(
  auth: Record<string, unknown>,
  env: Environment,
  own: object = {},
  signal = new AbortController().signal,
) {
  const read = bedrock.kind.options.auth?.parse(auth);
  const options = { region: "eu-west-1", auth: read, ...own };
  const upstream = { id: "bedrock", kind: "bedrock", headers: {}, options };
  const credential = bedrock.adapter.credential?.(upstream);
  if (!credential) throw new Error("no credential");
  const all = { ...nowhere, ...env };
  return inEnvironment(all, async () => credential.issue({ ...contextWith(all), signal }));
}

async function detailOf(doing: Promise<unknown>): Promise<string> {
  const error = await doing.catch((thrown: unknown) => thrown);
  if (!(error instanceof GatewayError)) throw new Error(`no GatewayError but ${String(error)}`);
  expect(error.kind).toBe("upstream_credentials");
  return error.details.logDetail ?? "";
}

/** A process that has ended, but whose parent has not asked how, is a zombie (`Z`). */
function isRunning(pid: number): boolean {
  const { stdout } = Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]);
  return /^[^Z]/.test(stdout.toString().trim());
}

/** Within 50 seconds of an hour. */
const lastsMs = expect.closeTo(hour, -5);
const issued = (accessKeyId: string, secretAccessKey: string, sessionToken: string) => ({
  value: { accessKeyId, secretAccessKey, sessionToken },
  lastsMs,
});

describe("an EC2 instance", () => {
  test("gives the keys of its role through IMDSv2", async () => {
    const service = startService(ec2Metadata("gateway-role"));
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
    const service = startService(ec2Metadata("gateway-role"));
    service.next.push(new Response("", { status: 503 }));
    const env = { AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url };
    expect(await fetchWith({ type: "instance" }, env)).toMatchObject({ lastsMs });
    const roleless = startService(ec2Metadata(undefined));
    const without = { AWS_EC2_METADATA_SERVICE_ENDPOINT: roleless.url };
    expect(await detailOf(fetchWith({ type: "instance" }, without))).toContain("status 404");
  });
});

describe("a container", () => {
  test("gives the keys of its task", async () => {
    const service = startService(containerCredentials(() => "ecs-token"));
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.url}/creds`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "ecs-token",
    };
    expect(await fetchWith({ type: "container" }, env)).toMatchObject({ lastsMs });
  });

  test("of EKS Pod Identity gives keys for a token that is replaced", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "token");
    let current = "pod-1";
    const service = startService(containerCredentials(() => current));
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: service.url,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
    };
    for (const token of ["pod-1", "pod-2"]) {
      current = token;
      writeFileSync(file, token);
      expect(await fetchWith({ type: "container" }, env)).toMatchObject({ lastsMs });
    }
    current = "pod-3";
    expect(await detailOf(fetchWith({ type: "container" }, env))).toContain("status 401");
  });

  test("never gets its token over plain http at another host", async () => {
    const env = {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://203.0.113.9/creds",
      AWS_CONTAINER_AUTHORIZATION_TOKEN: "ecs-token",
    };
    expect(await detailOf(fetchWith({ type: "container" }, env))).toContain("must either be HTTPS");
  });
});

describe("a web identity (IRSA)", () => {
  test("is exchanged at STS, without a signature, and read again when it is replaced", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "token");
    const service = startService(sts({ webIdentity: (token) => token === "irsa-2" }));
    const env = {
      AWS_WEB_IDENTITY_TOKEN_FILE: file,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/gateway",
      AWS_ENDPOINT_URL_STS: service.url,
    };
    writeFileSync(file, "irsa-1");
    expect(await detailOf(fetchWith({ type: "web-identity" }, env))).toBe(
      "AWS STS: status 400, InvalidIdentityTokenException: Incorrect token audience",
    );
    writeFileSync(file, "irsa-2");
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
    const service = startService(sts({ signers: { AKIAOWN: "own-secret" }, externalId: "otters" }));
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
    const metadata = startService(ec2Metadata("gateway-role"));
    const service = startService(sts({ signers: { ASIA1: "issued-secret" } }));
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
    expect(await detailOf(fetchWith({ type: "profile", profile: "other" }, env))).toContain(
      "Could not resolve credentials using profile: [other]",
    );
  });

  test("names a program that prints keys", async () => {
    const printed = {
      Version: 1,
      AccessKeyId: "AKIAPROC",
      SecretAccessKey: "printed",
      Expiration: inOneHour(),
    };
    using home = homeWith(
      `[profile p]\ncredential_process = echo '${JSON.stringify(printed)}'\n[profile bad]\ncredential_process = echo secret-output; exit 3\n`,
    );
    const env = { ...process.env, HOME: home.path };
    expect(await fetchWith({ type: "profile", profile: "p" }, env)).toEqual({
      value: { accessKeyId: "AKIAPROC", secretAccessKey: "printed" },
      lastsMs,
    });
    expect(await detailOf(fetchWith({ type: "profile", profile: "bad" }, env))).toBe(
      "AWS: credential_process failed",
    );
  });

  test("names a program that hangs: it ends with the request for keys, and so do the programs it started", async () => {
    using home = homeWith("");
    const pids = join(home.path, "pids");
    writeFileSync(
      join(home.path, ".aws", "config"),
      `[profile p]\ncredential_process = sleep 600 & echo $$ $! > ${pids}.new; mv ${pids}.new ${pids}; wait\n`,
    );
    const stopping = new AbortController();
    const env = { ...process.env, HOME: home.path };
    const issuing = fetchWith({ type: "profile", profile: "p" }, env, {}, stopping.signal);
    issuing.catch(() => undefined);
    while (!existsSync(pids)) await Bun.sleep(5);
    const started = readFileSync(pids, "utf8").trim().split(" ").map(Number);
    expect(started.map(isRunning)).toEqual([true, true]);
    stopping.abort(new GatewayError("upstream_timeout", "stopped"));
    await expect(issuing).rejects.toThrow("stopped");
    const until = Date.now() + 10_000;
    while (started.some(isRunning) && Date.now() < until) await Bun.sleep(5);
    expect(started.filter(isRunning)).toEqual([]);
  });

  test("uses single sign-on with the token of aws sso login, and says when it has expired", async () => {
    using home = homeWith(
      "[profile p]\nsso_session = corp\nsso_account_id = 123456789012\nsso_role_name = Reader\n[sso-session corp]\nsso_region = eu-west-1\nsso_start_url = https://corp.awsapps.com/start\n",
    );
    const name = createHash("sha1").update("corp").digest("hex");
    const path = join(home.path, ".aws", "sso", "cache", `${name}.json`);
    const service = startService(identityCenter("sso-token"));
    const env = { HOME: home.path, AWS_ENDPOINT_URL_SSO: service.url };
    const store = (accessToken: string, expiresAt: string) =>
      writeFileSync(path, JSON.stringify({ accessToken, expiresAt }));
    store("sso-token", inOneHour());
    expect(await fetchWith({ type: "profile", profile: "p" }, env)).toEqual(
      issued("ASIASSO123456789012", "sso-secret", "sso-session"),
    );
    store("sso-token", "2025-11-17T11:00:00Z");
    expect(await detailOf(fetchWith({ type: "profile", profile: "p" }, env))).toContain(
      "run 'aws sso login'",
    );
    store("revoked", inOneHour());
    expect(await detailOf(fetchWith({ type: "profile", profile: "p" }, env))).toContain(
      "Session token not found or invalid",
    );
  });

  test("of single sign-on gets a new token when the stored one has expired, and stores it", async () => {
    using home = homeWith(
      "[profile p]\nsso_session = other\nsso_account_id = 123456789012\nsso_role_name = Reader\n[sso-session other]\nsso_region = eu-west-1\nsso_start_url = https://corp.awsapps.com/start\n",
    );
    const name = createHash("sha1").update("other").digest("hex");
    const path = join(home.path, ".aws", "sso", "cache", `${name}.json`);
    const stored = {
      accessToken: "old-token",
      expiresAt: "2025-11-17T11:00:00Z",
      clientId: "client",
      clientSecret: "client-secret",
      refreshToken: "refresh-1",
    };
    writeFileSync(path, JSON.stringify(stored));
    const portal = startService(identityCenter("new-token"));
    const oidc = startService(({ path, body }) => {
      const { refreshToken, grantType } = JSON.parse(body) as Record<string, string>;
      return path === "/token" && refreshToken === "refresh-1" && grantType === "refresh_token"
        ? json({ accessToken: "new-token", refreshToken: "refresh-2", expiresIn: 3600 })
        : json({ error: "invalid_grant" }, 400);
    });
    const env = {
      HOME: home.path,
      AWS_ENDPOINT_URL_SSO: portal.url,
      AWS_ENDPOINT_URL_SSO_OIDC: oidc.url,
    };
    expect(await fetchWith({ type: "profile", profile: "p" }, env)).toEqual(
      issued("ASIASSO123456789012", "sso-secret", "sso-session"),
    );
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({
      accessToken: "new-token",
      refreshToken: "refresh-2",
    });
  });

  test("of aws login gets new keys when the stored ones have expired", async () => {
    const session = "arn:aws:iam::123456789012:user/otter";
    using home = homeWith(`[profile p]\nregion = eu-west-1\nlogin_session = ${session}\n`);
    const folder = join(home.path, ".aws", "login", "cache");
    mkdirSync(folder, { recursive: true });
    const dpopKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const keys = { accessKeyId: "ASIAOLD", secretAccessKey: "old", sessionToken: "old-session" };
    const stored = {
      accessToken: { ...keys, accountId: "123456789012", expiresAt: "2025-11-17T11:00:00Z" },
      clientId: "arn:aws:signin:::devtools/same-device",
      refreshToken: "refresh-1",
      dpopKey: dpopKey.export({ type: "sec1", format: "pem" }),
    };
    const file = `${createHash("sha256").update(session).digest("hex")}.json`;
    writeFileSync(join(folder, file), JSON.stringify(stored));
    const signIn = startService(({ path, body, headers }) => {
      const { refreshToken } = JSON.parse(body) as Record<string, string>;
      return path === "/v1/token" && refreshToken === "refresh-1" && headers.has("dpop")
        ? json({
            accessToken: { accessKeyId: "ASIANEW", secretAccessKey: "new", sessionToken: "new-s" },
            refreshToken: "refresh-2",
            expiresIn: 3600,
            tokenType: "aws_sigv4",
          })
        : json({ error: "TOKEN_EXPIRED" }, 400);
    });
    const env = {
      HOME: home.path,
      AWS_ENDPOINT_URL_SIGNIN: signIn.url,
      AWS_LOGIN_CACHE_DIRECTORY: folder,
    };
    expect(await fetchWith({ type: "profile", profile: "p" }, env)).toEqual(
      issued("ASIANEW", "new", "new-s"),
    );
  });

  test("says how long its role lasts, and one that needs a code of a device is an error", async () => {
    using home = homeWith(
      "[profile p]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = keys\nduration_seconds = 7200\n[profile m]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = keys\nmfa_serial = arn:aws:iam::1:mfa/otter\n",
      "[keys]\naws_access_key_id = AKIAKEYS\naws_secret_access_key = keys-secret\n",
    );
    const service = startService(sts({ signers: { AKIAKEYS: "keys-secret" } }));
    const env = { HOME: home.path, AWS_ENDPOINT_URL_STS: service.url };
    await fetchWith({ type: "profile", profile: "p" }, env);
    expect(service.received[0]?.form.get("DurationSeconds")).toBe("7200");
    expect(await detailOf(fetchWith({ type: "profile", profile: "m" }, env))).toContain(
      "multi-factor authentication",
    );
  });

  test("assumes a role with another profile, and a circle of profiles is an error", async () => {
    using home = homeWith(
      "[profile p]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = keys\nexternal_id = otters\n[profile a]\nrole_arn = arn:aws:iam::1:role/a\nsource_profile = b\n[profile b]\nrole_arn = arn:aws:iam::1:role/b\nsource_profile = a\n",
      "[keys]\naws_access_key_id = AKIAKEYS\naws_secret_access_key = keys-secret\n",
    );
    const service = startService(
      sts({ signers: { AKIAKEYS: "keys-secret" }, externalId: "otters" }),
    );
    const env = { HOME: home.path, AWS_ENDPOINT_URL_STS: service.url };
    const { value } = await fetchWith({ type: "profile", profile: "p" }, env);
    expect(value).toMatchObject({ accessKeyId: "ASIAROLE1" });
    expect(await detailOf(fetchWith({ type: "profile", profile: "a" }, env))).toContain("cycle");
  });
});
