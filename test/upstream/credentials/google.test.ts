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
import { federation, gceMetadata, googleSts } from "./fake-google.ts";
import { contextWith, json, startService, stopServices } from "./fake-service.ts";

afterAll(stopServices);

const now = () => Date.parse("2026-11-17T12:00:00Z");
const nowhere = { HOME: "/nonexistent" };

function fetchWith(auth: Record<string, unknown>, env: Environment) {
  const options = { project: "p", location: "global", auth: vertex.kind.options.auth?.parse(auth) };
  const upstream = { id: "vertex", kind: "vertex", headers: {}, options };
  const credential = vertex.adapter.credential?.(upstream);
  if (!credential) throw new Error("no credential");
  return credential.issue(contextWith({ ...nowhere, ...env }, now));
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
    lastsMs: 3_600_000,
  });
  store({ service_account_impersonation_url: `${service.url}/impersonate` }, "kube-2");
  expect(await fetchWith({ type: "file", file: path }, {})).toEqual({
    value: "impersonated",
    lastsMs: 3_600_000,
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
  store({ credential_source: { executable: { command: "print-token" } } }, "kube-2");
  expect(await detailOf(fetchWith({ type: "default" }, env))).toContain("must be a file or a url");
});

test("a subject token may come from a URL", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "adc.json");
  const source = startService(
    ({ headers }) => new Response(headers.get("metadata") === "True" ? "kube-2\n" : ""),
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
  writeFileSync(wellKnown, JSON.stringify({ ...user, token_uri: service.url }));
  expect((await fetchWith({ type: "default" }, { CLOUDSDK_CONFIG: gcloud })).value).toBe("user-r");
});

test("requests and the connection test of a user's file name its quota project", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "adc.json");
  const service = startService(() => json({ access_token: "user-token", expires_in: 3600 }));
  const user = { type: "authorized_user", client_id: "c", client_secret: "s", refresh_token: "r" };
  const sentWith = async (more: object, headers: Record<string, string> = {}) => {
    writeFileSync(path, JSON.stringify({ ...user, token_uri: service.url, ...more }));
    const auth = { type: "file", file: path };
    const options = { project: "p", location: "global", auth };
    const upstream = { id: "vertex", kind: "vertex", headers, options };
    const { send, env, signal } = contextWith(nowhere, now);
    const credentials = createCredentialCache({ send, now, env });
    const input = { kind: "text", texts: ["a"] };
    const query = { model: "m", input, extraFields: {} } as unknown as EmbeddingsQuery;
    const requests = [
      vertex.adapter.embeddings!.toUpstream(query, { model: "text-embedding-005", upstream }),
      vertex.adapter.probe!(upstream),
    ];
    return Promise.all(
      requests.map(async (request) => {
        const sent = await credentials.authenticate(request, vertex.adapter, upstream, signal);
        expect(sent.headers?.authorization).toBe("Bearer user-token");
        return sent.headers?.["x-goog-user-project"];
      }),
    );
  };
  expect(await sentWith({ quota_project_id: "billed" })).toEqual(["billed", "billed"]);
  expect(await sentWith({})).toEqual([undefined, undefined]);
  const configured = { "x-goog-user-project": "other" };
  expect(await sentWith({ quota_project_id: "billed" }, configured)).toEqual(["other", "other"]);
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
