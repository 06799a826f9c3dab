/** Why an upstream sent no usable response, as operators read it: on the page of the request and in the log. */
import { afterEach, expect, test } from "bun:test";
import { showRequestDetail } from "../../server/admin/reads/show-request.ts";
import { selfSigned } from "../certificate-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway, temporaryFolder } from "../harness.ts";
import { testWith } from "../programs.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function fail(baseUrl: string): Promise<TestGateway> {
  const gateway = startGateway({ yaml: configFor(baseUrl) });
  open.push(() => gateway.close());
  const body = { model: "text-embedding-3-small", input: "a" };
  const response = await gateway.post("/v1/embeddings", body);
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(await response.text()).not.toContain(new URL(baseUrl).host);
  return gateway;
}

const shown = (gateway: TestGateway, isAdministrator: boolean) =>
  showRequestDetail(gateway.rows().at(-1)!, null, { contentExpiresAt: undefined, isAdministrator })
    .timeline[0];

const reasonInLog = (gateway: TestGateway): string | undefined =>
  gateway
    .log()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; reason?: string })
    .find(({ event }) => event === "request")?.reason;

function expectReason(gateway: TestGateway, reason: string | RegExp): void {
  expect(shown(gateway, true)?.upstream_message).toMatch(reason);
  expect(shown(gateway, true)?.upstream_status).toBeNull();
  expect(shown(gateway, false)?.upstream_message).toBeNull();
  expect(reasonInLog(gateway)).toMatch(reason);
}

test("a dead port is named with its address, to administrators only", async () => {
  expectReason(await fail("http://127.0.0.1:9/v1"), "127.0.0.1:9: ECONNREFUSED");
});

test("an unknown host is told apart from a dead port", async () => {
  expectReason(
    await fail("http://vendor.invalid/v1"),
    /^vendor\.invalid:80: (ENOTFOUND|EAI_AGAIN|DNS\w+)$/,
  );
});

testWith("openssl")("a certificate that is not trusted is named", async () => {
  const folder = temporaryFolder();
  open.push(() => folder[Symbol.dispose]());
  const { cert, key } = selfSigned(folder.path, "IP:127.0.0.1");
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(),
    tls: { cert, key },
  });
  open.push(() => server.stop(true));
  expectReason(
    await fail(`https://127.0.0.1:${server.port}/v1`),
    `127.0.0.1:${server.port}: DEPTH_ZERO_SELF_SIGNED_CERT`,
  );
});

test("a server without TLS is told apart from a dead port", async () => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  open.push(() => server.stop(true));
  expectReason(
    await fail(`https://127.0.0.1:${server.port}/v1`),
    new RegExp(`^127\\.0\\.0\\.1:${server.port}: \\S+`),
  );
});

test("the log line of an upstream's error response has its status and message", async () => {
  const fake = startFake();
  open.push(() => fake.close());
  const gateway = await fail(fake.url.replace("/v1", "/v2"));
  expect(reasonInLog(gateway)).toStartWith("HTTP 404");
  expect(shown(gateway, true)?.upstream_status).toBe(404);
});
