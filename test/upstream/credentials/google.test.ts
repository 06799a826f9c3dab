/** Access tokens of Google Cloud for Vertex AI: application default credentials, federation, the metadata server. */
import { afterAll, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type { Environment } from "../../../server/upstream/adapter.ts";
import { vertex } from "../../../server/upstream/adapters/google/vertex.ts";
import type { EmbeddingsQuery } from "../../../server/upstream/contract.ts";
import { createCredentialCache } from "../../../server/upstream/credentials/credential-cache.ts";
import { temporaryFolder } from "../../harness.ts";
import { inEnvironment } from "./cloud-environment.ts";
import { federation, gceMetadata, googleSts } from "./fake-google.ts";
import { contextWith, json, startService, stopServices } from "./fake-service.ts";

afterAll(stopServices);

const hour = 3_600_000;
/** Within 50 seconds of an hour. */
const anHour = expect.closeTo(hour, -5);
const nowhere = { HOME: "/nonexistent" };

/** `tokens`: a service in place of Google's token service and its IAM credentials service. */
function fetchWith(auth: Record<string, unknown>, env: Environment, tokens = "") {
  const options = { project: "p", location: "global", auth: vertex.kind.options.auth?.parse(auth) };
  const upstream = { id: "vertex", kind: "vertex", headers: {}, options };
  const credential = vertex.adapter.credential?.(upstream);
  if (!credential) throw new Error("no credential");
  const standIns = Object.fromEntries(
    ["oauth2", "iamcredentials"].map((name) => [`https://${name}.googleapis.com`, tokens]),
  );
  return credential.issue(contextWith({ ...nowhere, ...env }, Date.now, standIns));
}

async function detailOf(doing: Promise<unknown>): Promise<string> {
  const error = await doing.catch((thrown: unknown) => thrown);
  if (!(error instanceof GatewayError)) throw new Error(`no GatewayError but ${String(error)}`);
  return error.details.logDetail ?? "";
}

test("a machine of Google Cloud gives the token of its service account", async () => {
  const service = startService(gceMetadata);
  const token = { value: "gce-token", lastsMs: 3_599_000 };
  const env = { GCE_METADATA_HOST: service.host };
  expect(await fetchWith({ type: "metadata" }, env)).toEqual(token);
  expect(await fetchWith({ type: "default" }, env)).toEqual(token);
  service.next.push(json({}, 503));
  expect(await fetchWith({ type: "metadata" }, env)).toEqual(token);
});

test("another server at the address of the metadata server is not believed", async () => {
  const portal = startService(() => json({ access_token: "forged", expires_in: 3600 }));
  const env = { GCE_METADATA_HOST: portal.host };
  expect(await detailOf(fetchWith({ type: "metadata" }, env))).toContain("is not Google's");
});

test("a federated identity is exchanged for a token, and that for one of a service account", async () => {
  using folder = temporaryFolder();
  const [path, tokenPath] = [join(folder.path, "adc.json"), join(folder.path, "token")];
  const service = startService(googleSts((token) => token === "kube-2"));
  const account = {
    type: "external_account",
    audience: federation.audience,
    subject_token_type: federation.subject,
    token_url: `${service.url}/v1/token`,
    credential_source: { file: tokenPath, format: { type: "json", subject_token_field_name: "t" } },
  };
  const env = { GOOGLE_APPLICATION_CREDENTIALS: path };
  const store = (change: object, token: string) => {
    writeFileSync(path, JSON.stringify({ ...account, ...change }));
    writeFileSync(tokenPath, JSON.stringify({ t: token }));
  };
  store({}, "kube-1");
  expect(await detailOf(fetchWith({ type: "default" }, env))).toBe(
    "Google's STS: status 400, invalid_grant: The audience in ID Token does not match the expected audience.",
  );
  store({}, "kube-2");
  expect(await fetchWith({ type: "default" }, env)).toEqual({
    value: "federated",
    lastsMs: anHour,
  });
  store({ service_account_impersonation_url: `${service.url}/impersonate` }, "kube-2");
  expect(await fetchWith({ type: "file", file: path }, {})).toEqual({
    value: "impersonated",
    lastsMs: anHour,
  });
  // A token without a time lasts as long as was asked for, and is renewed.
  const impersonation = {
    service_account_impersonation_url: `${service.url}/impersonate-without-time`,
    service_account_impersonation: { token_lifetime_seconds: 900 },
  };
  store(impersonation, "kube-2");
  expect(await fetchWith({ type: "file", file: path }, {})).toEqual({
    value: "impersonated",
    lastsMs: 900_000,
  });
  store({ audience: "//iam.googleapis.com/other" }, "kube-2");
  expect(await detailOf(fetchWith({ type: "default" }, env))).toContain("invalid_target");
});

test("a subject token may come from a program, if the environment allows it, or from keys of AWS", async () => {
  using folder = temporaryFolder();
  const [path, program] = [join(folder.path, "adc.json"), join(folder.path, "print-token")];
  const tokenType = federation.subject;
  const printed = { version: 1, success: true, token_type: tokenType, id_token: "kube-2" };
  const expiration_time = Math.floor(Date.now() / 1000) + 600;
  const text = JSON.stringify({ ...printed, expiration_time });
  writeFileSync(program, `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 });
  const tokens: string[] = [];
  const service = startService(googleSts((token) => tokens.push(token) > 0));
  const account = {
    type: "external_account",
    audience: federation.audience,
    subject_token_type: tokenType,
    token_url: `${service.url}/v1/token`,
  };
  const fetchFrom = (credential_source: object, env: Environment) => {
    writeFileSync(path, JSON.stringify({ ...account, credential_source }));
    return inEnvironment(env, () => fetchWith({ type: "file", file: path }, {}));
  };
  const fromProgram = { executable: { command: program } };
  expect(await detailOf(fetchFrom(fromProgram, {}))).toContain("need to be explicitly allowed");
  const allowed = { GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES: "1" };
  expect((await fetchFrom(fromProgram, allowed)).value).toBe("federated");
  const regional = "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15";
  const aws = { environment_id: "aws1", regional_cred_verification_url: regional };
  const keys = { AWS_ACCESS_KEY_ID: "AKIA1", AWS_SECRET_ACCESS_KEY: "s", AWS_REGION: "eu-west-1" };
  expect((await fetchFrom(aws, keys)).value).toBe("federated");
  expect(tokens[0]).toBe("kube-2");
  expect(decodeURIComponent(tokens[1] ?? "")).toContain("Credential=AKIA1/");
});

test("a user may act as a service account", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "adc.json");
  const email = "gateway@p.iam.gserviceaccount.com";
  const file = {
    type: "impersonated_service_account",
    service_account_impersonation_url: `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${email}:generateAccessToken`,
    source_credentials: {
      type: "authorized_user",
      client_id: "c",
      client_secret: "s",
      refresh_token: "r",
    },
  };
  writeFileSync(path, JSON.stringify(file));
  const google = startService(({ path: asked, headers }) => {
    if (asked === "/token") return json({ access_token: "user-token", expires_in: 3600 });
    const isOurs = asked.endsWith(`/${email}:generateAccessToken`);
    return isOurs && headers.get("authorization") === "Bearer user-token"
      ? json({ accessToken: "impersonated", expireTime: new Date(Date.now() + hour) })
      : json({ error: { status: "PERMISSION_DENIED", message: "denied" } }, 403);
  });
  expect(await fetchWith({ type: "file", file: path }, {}, google.url)).toEqual({
    value: "impersonated",
    lastsMs: anHour,
  });
  google.next.push(json({ error: "invalid_grant", error_description: "Token was revoked." }, 400));
  expect(await detailOf(fetchWith({ type: "file", file: path }, {}, google.url))).toBe(
    "Google's token service: status 400, invalid_grant: Token was revoked.",
  );
});

test("a subject token may come from a URL", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "adc.json");
  const source = startService(
    ({ headers }) => new Response(headers.get("metadata") === "True" ? "kube-2" : ""),
  );
  const service = startService(googleSts((token) => token === "kube-2"));
  const account = {
    type: "external_account",
    audience: federation.audience,
    subject_token_type: federation.subject,
    token_url: service.url,
    credential_source: { url: source.url, headers: { Metadata: "True" } },
  };
  writeFileSync(path, JSON.stringify(account));
  expect((await fetchWith({ type: "file", file: path }, {})).value).toBe("federated");
});

test("a key file and a user who signed in by gcloud are found where Google's libraries find them", async () => {
  using folder = temporaryFolder();
  const service = startService(({ form }) =>
    json({
      access_token: form.get("assertion") ? "key-token" : `user-${form.get("refresh_token")}`,
      expires_in: 3600,
    }),
  );
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = {
    type: "service_account",
    client_email: "a@p.iam.gserviceaccount.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: service.url,
  };
  const gcloud = join(folder.path, ".config", "gcloud");
  mkdirSync(gcloud, { recursive: true });
  const wellKnown = join(gcloud, "application_default_credentials.json");
  writeFileSync(wellKnown, JSON.stringify(key));
  expect((await fetchWith({ type: "default" }, { HOME: folder.path })).value).toBe("key-token");
  const user = { type: "authorized_user", client_id: "c", client_secret: "s", refresh_token: "r" };
  writeFileSync(wellKnown, JSON.stringify(user));
  const env = { CLOUDSDK_CONFIG: gcloud };
  expect((await fetchWith({ type: "default" }, env, service.url)).value).toBe("user-r");
});

/** The header that names the quota project, in an embeddings request and in the free request of a connection test. */
async function quotaProjects(
  file: object,
  env: Environment = {},
  headers: Record<string, string> = {},
) {
  using folder = temporaryFolder();
  const path = join(folder.path, "adc.json");
  const service = startService(() => json({ access_token: "a-token", expires_in: 3600 }));
  writeFileSync(path, JSON.stringify({ token_uri: `${service.url}/token`, ...file }));
  const auth = { type: "file", file: path };
  const options = { project: "ours", location: "global", auth };
  const upstream = { id: "vertex", kind: "vertex", headers, options };
  const standIns = { "https://oauth2.googleapis.com": service.url };
  const context = contextWith({ ...nowhere, ...env }, Date.now, standIns);
  const credentials = createCredentialCache(context);
  const input = { kind: "text", texts: ["a"] };
  const query = { model: "m", input, extraFields: {} } as unknown as EmbeddingsQuery;
  const requests = [
    vertex.adapter.embeddings!.toUpstream(query, { model: "text-embedding-005", upstream }),
    vertex.adapter.probe!(upstream),
  ];
  return await Promise.all(
    requests.map(async (request) => {
      const { adapter } = vertex;
      const sent = await credentials.authenticate(request, adapter, upstream, context.signal);
      expect(sent.headers?.authorization).toBe("Bearer a-token");
      return sent.headers?.["x-goog-user-project"];
    }),
  );
}

test("requests and the connection test name the quota project of the file or the environment", async () => {
  const user = { type: "authorized_user", client_id: "c", client_secret: "s", refresh_token: "r" };
  const billed = { ...user, quota_project_id: "billed" };
  expect(await quotaProjects(billed)).toEqual(["billed", "billed"]);
  const env = { GOOGLE_CLOUD_QUOTA_PROJECT: "named" };
  expect(await quotaProjects(billed, env)).toEqual(["named", "named"]);
  const configured = { "x-goog-user-project": "other" };
  expect(await quotaProjects(billed, {}, configured)).toEqual(["other", "other"]);
  // A user has no project of their own, which Google refuses where the path names none.
  expect(await quotaProjects(user)).toEqual([undefined, "ours"]);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const account = {
    type: "service_account",
    client_email: "a@p.iam.gserviceaccount.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
  };
  expect(await quotaProjects(account)).toEqual([undefined, undefined]);
  const shared = { ...account, quota_project_id: "billed" };
  expect(await quotaProjects(shared)).toEqual(["billed", "billed"]);
});

test("the error about a credential file names the file, and does not quote it", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "adc.json");
  const read = () => detailOf(fetchWith({ type: "file", file: path }, {}));
  expect(await read()).toContain(`${path} cannot be read (ENOENT)`);
  writeFileSync(path, "otterotterotter");
  expect(await read()).toBe(`the credential file ${path} is not JSON`);
  writeFileSync(path, '{"type":"service_account","private_key":"otterotterotter"}');
  expect(await read()).not.toContain("otter");
});
