/** Cloud credentials through a whole gateway: embeddings, images, edits, connection tests and the command `check`. */
import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  command,
  commandEnvironment,
  startProcess,
  temporaryFolder,
  testKey,
} from "../../harness.ts";
import { until } from "../../until.ts";
import { ec2Metadata } from "./fake-aws.ts";
import { azureIds, azureMetadata, entra } from "./fake-azure.ts";
import { gceMetadata } from "./fake-google.ts";
import { json, startService, stopServices } from "./fake-service.ts";

afterAll(stopServices);

const vector = [0.6, 0.8];
const adminToken = "admin-0123456789-0123456789";
const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Azure OpenAI, Bedrock and Vertex AI, each with its own check of the credential. */
function startModels() {
  return startService(({ path, headers }) => {
    const authorization = headers.get("authorization") ?? "";
    if (path.startsWith("/openai/")) {
      if (authorization !== "Bearer imds-token-system" || headers.has("api-key"))
        return json({ error: { code: "401", message: "Access denied" } }, 401);
      if (path.endsWith("/models")) return json({ object: "list", data: [] });
      return path.endsWith("/embeddings")
        ? json({
            data: [{ index: 0, embedding: vector }],
            usage: { prompt_tokens: 2, total_tokens: 2 },
          })
        : json({ created: 1, data: [{ b64_json: png }] });
    }
    if (path.startsWith("/model/") || path === "/foundation-models") {
      return /Credential=ASIA\d+\/\d+\/eu-west-1\/bedrock\//.test(authorization) &&
        headers.get("x-amz-security-token")?.startsWith("session-")
        ? json({ embedding: vector, inputTextTokenCount: 2 })
        : json({ message: "The security token is not valid" }, 403, {
            "x-amzn-errortype": "UnrecognizedClientException",
          });
    }
    return authorization === "Bearer gce-token"
      ? json({ predictions: [{ embeddings: { values: vector, statistics: { token_count: 2 } } }] })
      : json({ error: { code: 401, status: "UNAUTHENTICATED", message: "no" } }, 401);
  });
}

const yamlFor = (models: string) => `
upstreams:
  - { id: azure, kind: azure, baseUrl: "${models}", auth: { type: managed-identity } }
  - { id: azure-two, kind: azure, baseUrl: "${models}", auth: { type: managed-identity } }
  - { id: bedrock, kind: bedrock, region: eu-west-1, baseUrl: "${models}", family: titan, auth: { type: default } }
  - { id: vertex, kind: vertex, project: p, location: global, baseUrl: "${models}", auth: { type: default } }
models:
  - { id: azure-e, kind: embedding, targets: [{ upstream: azure, model: deployment }] }
  - { id: bedrock-e, kind: embedding, targets: [{ upstream: bedrock, model: "our-profile" }] }
  - { id: vertex-e, kind: embedding, targets: [{ upstream: vertex, model: text-embedding-custom }] }
  - { id: azure-both, kind: embedding, sameSpace: true, targets: [{ upstream: azure, model: one }, { upstream: azure-two, model: two }] }
  - { id: azure-i, kind: image, targets: [{ upstream: azure, model: gpt-image-1 }] }
keys:
  - { name: test, key: ${testKey} }
`;

test("requests, drift checks and connection tests use the identity of the machine", async () => {
  using folder = temporaryFolder();
  const models = startModels();
  const [azure, ec2, gce] = [
    startService(azureMetadata()),
    startService(ec2Metadata("r")),
    startService(gceMetadata),
  ];
  const gateway = await startProcess({
    folder: folder.path,
    yaml: yamlFor(models.url),
    env: {
      HOME: folder.path,
      VEXEL_ADMIN_TOKEN: adminToken,
      VEXEL_CANARY_HOURS: "6",
      AZURE_POD_IDENTITY_AUTHORITY_HOST: azure.url,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: ec2.url,
      GCE_METADATA_HOST: gce.host,
    },
  });
  try {
    const embed = async (model: string, input: string) => {
      const response = await gateway.post("/v1/embeddings", { model, input });
      expect(`${model} ${response.status}`).toBe(`${model} 200`);
      const body = (await response.json()) as { data: { embedding: number[] }[] };
      expect(body.data[0]?.embedding).toEqual(vector);
    };
    const inputs = ["a", "b", "c", "d"];
    await Promise.all(
      ["azure-e", "bedrock-e", "vertex-e"].flatMap((model) =>
        inputs.map((input) => embed(model, input)),
      ),
    );
    const image = await gateway.post("/v1/images/generations", {
      model: "azure-i",
      prompt: "an otter",
    });
    expect(image.status).toBe(200);
    const form = new FormData();
    form.set("model", "azure-i");
    form.set("prompt", "an otter");
    form.set("image", new Blob([Buffer.from(png, "base64")], { type: "image/png" }), "a.png");
    const headers = { authorization: `Bearer ${testKey}` };
    const edit = await fetch(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers,
      body: form,
    });
    expect(edit.status).toBe(200);
    // Both targets of `azure-both` are compared: each gets the canary's text, with the identity of the machine.
    const checked = (): string[] =>
      models.received.flatMap(({ body }) =>
        body.includes("The canary sang") ? [(JSON.parse(body) as { model: string }).model] : [],
      );
    await until(() => new Set(checked()).size === 2);
    expect(checked().toSorted()).toEqual(["one", "two"]);
    // Asked once for each upstream; an instance of Amazon takes three requests.
    const asked = () => [azure, ec2, gce].map(({ received }) => received.length);
    expect(asked()).toEqual([2, 3, 1]);
    // A connection test asks again: it shows whether the cloud gives a credential now.
    for (const id of ["azure", "bedrock", "vertex"]) {
      const tested = await fetch(`${gateway.url}/admin/api/upstreams/${id}/test`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        body: "{}",
      });
      expect(`${id} ${tested.status}`).toBe(`${id} 200`);
      expect(await tested.json()).toMatchObject({ reachable: true, credential: "accepted" });
    }
    expect(asked()).toEqual([3, 6, 2]);
  } finally {
    await gateway.close();
  }
});

test("the command check shows the cloud's own message, and a client does not see it", async () => {
  using folder = temporaryFolder();
  const service = startService(entra());
  const models = startModels();
  const { tenant, client } = azureIds;
  const yaml = `
upstreams:
  - { id: azure, kind: azure, baseUrl: "${models.url}", auth: { type: client-secret, tenantId: ${tenant}, clientId: ${client}, clientSecret: old-secret-1 } }
models:
  - { id: azure-e, kind: embedding, targets: [{ upstream: azure, model: deployment }] }
keys:
  - { name: test, key: ${testKey} }
`;
  const env = { AZURE_AUTHORITY_HOST: service.url };
  const gateway = await startProcess({ folder: folder.path, yaml, env });
  try {
    const response = await gateway.post("/v1/embeddings", { model: "azure-e", input: "a" });
    const text = await response.text();
    expect(text).toContain("refused the gateway's credentials");
    expect(text).not.toContain("AADSTS");
    expect(gateway.output()).not.toContain("old-secret-1");
  } finally {
    await gateway.close();
  }
  writeFileSync(join(folder.path, "vexel.yaml"), yaml);
  const check = Bun.spawn([...command, "check", "--probe"], {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? "", ...commandEnvironment, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const printed = await new Response(check.stdout).text();
  expect(printed).toContain("AADSTS7000215: Invalid client secret provided.");
  expect(printed).not.toContain("old-secret-1");
  expect(models.received).toEqual([]);
});
