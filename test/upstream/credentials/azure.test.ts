/** Tokens of Entra ID for Azure upstreams: every flow, and what the operator learns if one fails. */
import { afterAll, describe, expect, test } from "bun:test";
import { constants, verify, X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type { Credential, Environment } from "../../../server/upstream/adapter.ts";
import { azure } from "../../../server/upstream/adapters/microsoft/azure.ts";
import { temporaryFolder } from "../../harness.ts";
import { testWith } from "../../programs.ts";
import { appService, azureIds, azureMetadata, entra } from "./fake-azure.ts";
import { contextWith, json, startService, stopServices } from "./fake-service.ts";

afterAll(stopServices);

function credentialOf(auth: Record<string, unknown>): Credential {
  const read = azure.kind.options.auth?.parse(auth);
  const upstream = { id: "azure", kind: "azure", headers: {}, options: { auth: read } };
  const credential = azure.adapter.credential?.(upstream);
  if (!credential) throw new Error("no credential");
  return credential;
}

const fetchWith = (auth: Record<string, unknown>, env: Environment, now?: () => number) =>
  credentialOf(auth).issue(contextWith(env, now));

async function errorOf(doing: Promise<unknown>): Promise<GatewayError> {
  const error = await doing.catch((thrown: unknown) => thrown);
  if (error instanceof GatewayError) return error;
  throw new Error(`no GatewayError but ${JSON.stringify(error)}`);
}

const { tenant: tenantId, client: clientId, secret: clientSecret } = azureIds;

describe("a client secret", () => {
  test("is exchanged at Entra ID for a token", async () => {
    const service = startService(entra());
    const auth = { type: "client-secret", tenantId, clientId, clientSecret };
    expect(await fetchWith(auth, { AZURE_AUTHORITY_HOST: service.url })).toEqual({
      value: "entra-token-1",
      lastsMs: 3_599_000,
    });
  });

  test("that Entra ID refuses is an error with Entra's message for the operator only", async () => {
    const service = startService(entra());
    const auth = { type: "client-secret", tenantId, clientId, clientSecret: "wrong-secret" };
    const error = await errorOf(fetchWith(auth, { AZURE_AUTHORITY_HOST: service.url }));
    expect(error.kind).toBe("upstream_credentials");
    expect(error.details.logDetail).toContain("AADSTS7000215: Invalid client secret provided.");
    expect(error.message).not.toContain("AADSTS");
    expect(JSON.stringify([error.message, error.details])).not.toContain("wrong-secret");
  });

  test("needs a tenant and a client", () => {
    const { error } = azure.kind.options.auth?.safeParse({ type: "client-secret" }) ?? {};
    expect(error?.issues.map(({ path }) => path.join("."))).toEqual([
      "tenantId",
      "clientId",
      "clientSecret",
    ]);
  });
});

testWith("openssl")("a certificate signs an assertion for Entra ID, and never leaves", async () => {
  using folder = temporaryFolder();
  const [keyPath, path] = [join(folder.path, "key.pem"), join(folder.path, "cert.pem")];
  const { exitCode } = Bun.spawnSync([
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    "/CN=vexel",
    "-keyout",
    keyPath,
    "-out",
    path,
  ]);
  expect(exitCode).toBe(0);
  const [key, pem] = [await Bun.file(keyPath).text(), await Bun.file(path).text()];
  const certificate = new X509Certificate(pem);
  const read = (part = "") => JSON.parse(Buffer.from(part, "base64url").toString());
  const service = startService(
    entra((text) => {
      const [head, claims, signature = ""] = text.split(".");
      expect(read(head)).toEqual({
        alg: "PS256",
        typ: "JWT",
        "x5t#S256": Buffer.from(certificate.fingerprint256.replaceAll(":", ""), "hex").toString(
          "base64url",
        ),
      });
      expect(read(claims)).toMatchObject({
        iss: clientId,
        sub: clientId,
        aud: `${service.url}/${tenantId}/oauth2/v2.0/token`,
      });
      const how = { key: certificate.publicKey, padding: constants.RSA_PKCS1_PSS_PADDING };
      return verify(
        "sha256",
        Buffer.from(`${head}.${claims}`),
        how,
        Buffer.from(signature, "base64url"),
      );
    }),
  );
  // Line breaks are lost in a field of one line, and escaped in some variables.
  for (const text of [
    pem + key,
    `${key}${pem}`.replaceAll("\n", ""),
    `${key}${pem}`.replaceAll("\n", "\\n"),
  ]) {
    const auth = { type: "certificate", tenantId, clientId, certificate: text };
    const issued = await fetchWith(auth, { AZURE_AUTHORITY_HOST: service.url });
    expect(issued.value).toStartWith("entra-token-");
  }
  expect(JSON.stringify(service.received.map(({ body }) => body))).not.toContain("PRIVATE");
  const refused = azure.kind.options.auth?.safeParse({
    type: "certificate",
    tenantId,
    clientId,
    certificate: key,
  });
  expect(refused?.success).toBe(false);
  expect(JSON.stringify(refused?.error?.issues)).not.toContain("PRIVATE KEY--");
});

describe("a managed identity", () => {
  test("gives a token through the metadata service of the machine", async () => {
    const service = startService(azureMetadata());
    const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: service.url };
    expect(await fetchWith({ type: "managed-identity" }, env)).toEqual({
      value: "imds-token-system",
      lastsMs: 86_399_000,
    });
    const assigned = await fetchWith({ type: "managed-identity", clientId: "mine" }, env);
    expect(assigned.value).toBe("imds-token-mine");
  });

  test("gives a token through App Service, which reports when it ends", async () => {
    const now = () => 1_800_000_000_000;
    const service = startService(appService("header-1", now));
    const env = { IDENTITY_ENDPOINT: `${service.url}/msi/token`, IDENTITY_HEADER: "header-1" };
    expect(await fetchWith({ type: "managed-identity" }, env, now)).toEqual({
      value: "app-service-token",
      lastsMs: 7_200_000,
    });
  });

  test("survives a metadata service that throttles, and reports one that hangs", async () => {
    const service = startService(azureMetadata());
    const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: service.url };
    service.next.push(json({ error: "too many" }, 429), json({}, 503));
    expect((await fetchWith({ type: "managed-identity" }, env)).value).toBe("imds-token-system");
    service.next.push("hang");
    const error = await errorOf(fetchWith({ type: "managed-identity" }, env));
    expect(error.kind).toBe("upstream_timeout");
    expect(error.details.logDetail).toBe("Azure's instance metadata service: no response");
  });

  test("that is not assigned is an error with Azure's message", async () => {
    const service = startService(azureMetadata());
    const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: service.url };
    const auth = { type: "managed-identity", clientId: "unknown" };
    expect((await errorOf(fetchWith(auth, env))).details.logDetail).toContain("Identity not found");
  });
});

describe("a workload identity", () => {
  test("reads the token of its service account each time, because Kubernetes replaces it", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "token");
    const valid = new Set(["kube-1"]);
    const service = startService(entra((text) => valid.has(text)));
    const env = {
      AZURE_AUTHORITY_HOST: `${service.url}/`,
      AZURE_TENANT_ID: tenantId,
      AZURE_CLIENT_ID: clientId,
      AZURE_FEDERATED_TOKEN_FILE: path,
    };
    writeFileSync(path, "kube-1\n");
    expect((await fetchWith({ type: "workload-identity" }, env)).value).toBe("entra-token-1");
    valid.clear();
    valid.add("kube-2");
    await errorOf(fetchWith({ type: "workload-identity" }, env));
    writeFileSync(path, "kube-2\n");
    expect((await fetchWith({ type: "workload-identity" }, env)).value).toBe("entra-token-2");
  });

  test("without its variables says which are missing", async () => {
    const error = await errorOf(fetchWith({ type: "workload-identity" }, { AZURE_CLIENT_ID: "a" }));
    expect(error.details.logDetail).toBe(
      "workload identity: AZURE_TENANT_ID, AZURE_FEDERATED_TOKEN_FILE not set in the environment",
    );
  });
});

test("the default is a client secret of the environment, then a certificate, a workload identity, and the machine", async () => {
  using folder = temporaryFolder();
  const entraId = startService(entra((text) => text === "kube-1"));
  const machine = startService(azureMetadata());
  const token = join(folder.path, "token");
  writeFileSync(token, "kube-1");
  const env = {
    AZURE_AUTHORITY_HOST: entraId.url,
    AZURE_POD_IDENTITY_AUTHORITY_HOST: machine.url,
    AZURE_TENANT_ID: tenantId,
    AZURE_CLIENT_ID: clientId,
    AZURE_CLIENT_CERTIFICATE_PATH: join(folder.path, "none.pem"),
    AZURE_FEDERATED_TOKEN_FILE: token,
    AZURE_CLIENT_SECRET: clientSecret,
  };
  const { AZURE_CLIENT_SECRET: _, ...withoutSecret } = env;
  const { AZURE_CLIENT_CERTIFICATE_PATH: __, ...withoutCertificate } = withoutSecret;
  const { AZURE_FEDERATED_TOKEN_FILE: ___, ...onMachine } = withoutCertificate;
  const fetchIn = (given: Environment) => fetchWith({ type: "default" }, given);
  expect((await fetchIn(env)).value).toStartWith("entra-token-");
  expect(entraId.received[0]?.form.get("client_secret")).toBe(clientSecret);
  expect((await errorOf(fetchIn(withoutSecret))).details.logDetail).toContain("none.pem");
  expect((await fetchIn(withoutCertificate)).value).toStartWith("entra-token-");
  expect(entraId.received[1]?.form.get("client_assertion")).toBe("kube-1");
  expect((await fetchIn(onMachine)).value).toBe(`imds-token-${clientId}`);
});

test("a metadata service that is updated (404, 410) is asked again, and may recover later", async () => {
  const machine = startService(azureMetadata());
  const env = { AZURE_POD_IDENTITY_AUTHORITY_HOST: machine.url };
  const fetchNow = () => fetchWith({ type: "managed-identity" }, env);
  machine.next.push(json({}, 404), json({}, 410));
  expect((await fetchNow()).value).toBe("imds-token-system");
  machine.instead = () => json({}, 410);
  expect((await errorOf(fetchNow())).kind).toBe("upstream_unreachable");
});

test("the older endpoint of App Service and Azure Machine Learning gives a token", async () => {
  const service = startService(({ query, headers }) =>
    headers.get("secret") === "msi-secret" && query.get("api-version") === "2017-09-01"
      ? json({ access_token: "msi-token", expires_on: "11/17/2026 14:00:00 +00:00" })
      : json({}, 400),
  );
  const env = { MSI_ENDPOINT: `${service.url}/msi/token`, MSI_SECRET: "msi-secret" };
  const now = () => Date.parse("2026-11-17T12:00:00Z");
  expect(await fetchWith({ type: "managed-identity" }, env, now)).toEqual({
    value: "msi-token",
    lastsMs: 7_200_000,
  });
});
