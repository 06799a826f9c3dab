/** Paths that a proxy and the gateway could read differently. */
import { afterAll, describe, expect, test } from "bun:test";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, temporaryFolder } from "../harness.ts";
import { testWith } from "../programs.ts";
import { startNginx } from "../topology/nginx.ts";
import { bearer, expectError, RawConnection, toHttpText } from "./gateway-fixture.ts";

const adminToken = "admin-token-0123456789";
const names = ["org/model", "a..b", "..a", "a.", "v1.5"];
const models = names
  .map((id) => `  - { id: "${id}", kind: embedding, targets: [{ upstream: fake, model: m }] }`)
  .join("\n");
const fake = startFake();
const gateway = startGateway({
  yaml: configFor(fake.url).replace("models:", `models:\n${models}`),
  settings: { VEXEL_ADMIN_TOKEN: adminToken },
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const request = async (url: string, path: string, token: string) => {
  const headers = { authorization: `Bearer ${token}` };
  const connection = await RawConnection.open(url, toHttpText({ path, headers }));
  const response = await connection.response();
  connection.disconnect();
  return response;
};

const api = "admin/api/targets";
const withDotSegments = [
  `/./${api}`,
  `/x/../${api}`,
  `/../${api}`,
  `/v1/../${api}`,
  `/%2e/${api}`,
  `/x/%2e%2e/${api}`,
  `/x/%2E./${api}`,
  `/x/.%2e/${api}`,
  `/x/..%2f${api}`,
  `/x%2F..%2F${api}`,
  `/x/..\\${api}`,
  `/x\\..\\${api}`,
  `/x/..%5c${api}`,
  `http://vexel.test/./${api}`,
  `http://vexel.test/x/../${api}`,
  `http://vexel.test/%2e/${api}`,
  "/x/..",
  "/.",
  "/x/%2e%2e/",
];
const otherSpellings = [
  `//${api}`,
  `///${api}`,
  `/admin//api/targets`,
  `http://vexel.test//${api}`,
  `/\\${api}`,
  `/%2f${api}`,
  `/%61dmin/api/targets`,
  `/admin/api/%74argets`,
  `/admin/api/target%53`,
  `/admin/api/playground/%65mbeddings`,
  `/ADMIN/api/targets`,
  `/x/..;/${api}`,
  `/%252e/${api}`,
  `/#/${api}`,
];

describe("directly over a socket", () => {
  test.each(withDotSegments)("a dot segment is refused: %s", async (path) => {
    const response = await request(gateway.url, path, adminToken);
    expect(await expectError(response, "invalid_http")).toContain("segment");
  });

  test.each(otherSpellings)("another spelling of the path is unknown: %s", async (path) => {
    await expectError(await request(gateway.url, path, adminToken), "unknown_url");
  });

  test("model names with dots and encoded slashes keep working", async () => {
    for (const id of names) {
      const path = `/v1/models/${encodeURIComponent(id)}`;
      const response = await fetch(`${gateway.url}${path}`, { headers: bearer });
      expect(await response.json()).toMatchObject({ id });
    }
  });

  test("dot segments in the query are part of it", async () => {
    expect((await request(gateway.url, `/${api}?x=/../y`, adminToken)).status).not.toBe(404);
  });
});

/** Rules by which operators keep /admin from the internet. */
const rules = {
  "a location": "location /admin { return 403; }",
  "the request target": "if ($request_uri ~ ^/admin) { return 403; }",
  "the path": "location ~ ^/admin { return 403; }",
} as const;

for (const [name, rule] of Object.entries(rules)) {
  testWith("nginx")(`nothing passes a rule of nginx that denies /admin by ${name}`, async () => {
    using folder = temporaryFolder();
    const forward = `location / { proxy_pass ${gateway.url}; proxy_set_header Host $host; }`;
    const nginx = await startNginx(folder.path, `${rule}\n${forward}`);
    try {
      expect((await request(nginx.url, `/${api}`, adminToken)).status).toBe(403);
      expect((await request(nginx.url, "/healthz", "")).status).toBe(200);
      for (const path of [...withDotSegments, ...otherSpellings]) {
        const { status, body } = await request(nginx.url, path, adminToken);
        expect([400, 403, 404], path).toContain(status);
        expect(body).not.toContain('"object":"list"');
      }
    } finally {
      await nginx.stop();
    }
  });
}
