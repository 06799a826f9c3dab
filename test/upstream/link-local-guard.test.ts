/** Webhooks and connection tests do not reach link-local addresses and metadata services. */
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import { runConnectionSteps } from "../../server/upstream/connection-test/connection-steps.ts";
import { guardLinkLocal, type Resolve } from "../../server/upstream/download/index.ts";
import { sendByFetch } from "../../server/upstream/transport/index.ts";
import { selfSigned } from "../certificate-fixture.ts";
import { asOperator, startWithAdmin, webhookYaml } from "../events/webhooks-fixture.ts";
import { testWith } from "../programs.ts";

const signal = new AbortController().signal;

/** The URLs and host headers of the requests that pass the guard. */
function guarded(resolve: Resolve, isProxied = false) {
  const sent: { url: string; host: string | undefined }[] = [];
  const send = guardLinkLocal({
    resolve,
    isProxied: () => isProxied,
    send: ({ url, headers }: UpstreamRequest) => {
      sent.push({ url, host: headers.host });
      const error = new GatewayError("upstream_unreachable", "refused", { notSent: true });
      return Promise.reject(error);
    },
  });
  return { sent, send: (url: string) => send({ url, headers: {} }, signal).catch(String) };
}

const neverResolved: Resolve = () => Promise.reject(new Error("no name"));

describe("a request is not sent to", () => {
  test.each([
    "http://169.254.169.254/latest/meta-data",
    "http://2852039166/",
    "http://0xa9fea9fe/",
    "https://169.254.0.1/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[fd20:ce::254]/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[::169.254.169.254]/",
    "http://[::ffff:0:169.254.169.254]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:a9fe:a9fe::]/",
    "http://[2001:0:1::5601:5601]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
  ])("%s", async (url) => {
    for (const isProxied of [false, true]) {
      const { sent, send } = guarded(neverResolved, isProxied);
      expect(await send(url)).toContain("is link-local or a metadata service");
      expect(sent).toEqual([]);
    }
  });

  test("a name with such an address among others", async () => {
    const { sent, send } = guarded(async () => ["10.0.0.1", "169.254.169.254"]);
    expect(await send("http://rebind.example/")).toContain("169.254.169.254");
    expect(sent).toEqual([]);
  });
});

test.each([
  "http://10.1.2.3:8000/v1",
  "http://127.0.0.1:11434/",
  "http://[fd12::1]/",
  "http://[::1]/",
])("%s, a private address, is allowed", async (url) => {
  const { sent, send } = guarded(neverResolved);
  await send(url);
  expect(sent.map((each) => each.url.startsWith(url.slice(0, 16)))).toEqual([true]);
});

test("the checked address is the one that is connected to", async () => {
  let lookups = 0;
  const { sent, send } = guarded(async () => {
    lookups++;
    return lookups === 1 ? ["10.0.0.1", "fd12::1"] : ["169.254.169.254"];
  });
  await send("http://vllm.example:8000/v1/models?a=1");
  // The next address is tried if the first accepts no connection.
  expect(sent).toEqual([
    { url: "http://10.0.0.1:8000/v1/models?a=1", host: "vllm.example:8000" },
    { url: "http://[fd12::1]:8000/v1/models?a=1", host: "vllm.example:8000" },
  ]);
  expect(lookups).toBe(1);
});

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: ({ headers, url }) => {
    if (new URL(url).pathname !== "/redirect") return new Response(headers.get("host"));
    return Response.redirect("http://169.254.169.254/latest/meta-data", 307);
  },
});
afterAll(() => server.stop(true));

test("the server gets the name of its host, and no redirect is followed", async () => {
  const send = guardLinkLocal({
    resolve: async () => ["127.0.0.1"],
    isProxied: () => false,
    send: (request) => sendByFetch(request, signal, 1000),
  });
  const url = `http://vllm.example:${server.port}`;
  const response = await send({ url: `${url}/`, headers: {} }, signal);
  expect(await response.text()).toBe(`vllm.example:${server.port}`);
  expect((await send({ url: `${url}/redirect`, headers: {} }, signal)).status).toBe(307);
});

test("the DNS step of a connection test fails for a link-local address", async () => {
  const steps = await runConnectionSteps(new URL("http://rebind.example/v1"), {
    resolve: async () => ["169.254.169.254"],
    timeoutMs: 1000,
    clock: () => 0,
  });
  expect(steps.map(({ result }) => result)).toEqual(["failed", "skipped", "skipped"]);
  expect(steps[0]?.detail).toContain("The gateway does not connect to it.");
});

testWith("openssl")(
  "the TLS step of a connection test connects to the checked address",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "vexel-tls-step-"));
    const { cert, key } = selfSigned(folder, "DNS:vllm.invalid");
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response(),
      tls: { cert, key },
    });
    const steps = await runConnectionSteps(new URL(`https://vllm.invalid:${server.port}/v1`), {
      resolve: async () => ["127.0.0.1"],
      timeoutMs: 10_000,
      clock: () => 0,
      tls: { ca: cert },
    });
    expect(steps.map(({ result }) => result)).toEqual(["passed", "passed", "passed"]);
    await server.stop(true);
    rmSync(folder, { recursive: true });
  },
);

test("the test of a webhook with a link-local address does not connect, and says why", async () => {
  const gateway = startWithAdmin({ yaml: webhookYaml({ url: "http://169.254.169.254/hook" }) });
  const { data } = await gateway.getAdmin<{ data: { id: string }[] }>("/admin/api/webhooks");
  const path = `/admin/api/webhooks/${data[0]?.id}/test`;
  const result = (await (await asOperator(gateway.url, path, "POST")).json()) as object;
  expect(result).toMatchObject({
    delivered: false,
    status: null,
    problem: "it cannot be reached (169.254.169.254 is link-local)",
  });
  await gateway.close();
});
