/** The address of a client behind reverse proxies, in the log lines of requests and in the audit log. */
import { expect, test } from "bun:test";
import type { AuditEntry, Page } from "../../contract/admin.ts";
import { SignInThrottle } from "../../server/admin/sign-in/sign-in-throttle.ts";
import { createClientAddress } from "../../server/http/client-address.ts";
import type { ByteSocket } from "../../server/http/server/client-socket.ts";
import { ClientConnection } from "../../server/http/server/connection.ts";
import { readSettings } from "../../server/settings.ts";
import { closeAfterAll } from "../clean-up.ts";
import { adminToken, getAdmin } from "../events/webhooks-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway } from "../harness.ts";
import { until } from "../until.ts";
import { jsonHeaders, RawConnection, toHttpText } from "./gateway-fixture.ts";
import { respondWith } from "./http-server-fixture.ts";
import { contextWith, NarrowSocket } from "./narrow-socket.ts";

const fake = startFake();
const gateway = startGateway({
  yaml: configFor(fake.url),
  settings: {
    VEXEL_ADMIN_TOKEN: adminToken,
    VEXEL_CONSOLE: "on",
    VEXEL_TRUSTED_PROXIES: "127.0.0.1, ::1",
  },
});
closeAfterAll(gateway, fake);

test("the audit log has the address of the client behind a trusted proxy", async () => {
  const refused = await fetch(`${gateway.url}/admin/api/session`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-forwarded-for": "203.0.113.9, 198.51.100.7",
    },
    body: JSON.stringify({ name: "nobody", password: "a wrong password" }),
  });
  expect(refused.status).toBe(401);
  const { data } = await getAdmin<Page<AuditEntry>>(gateway.url, "/admin/api/audit");
  expect(data.map(({ action, address }) => [action, address])).toEqual([
    ["session.refused", "198.51.100.7"],
  ]);
});

test("every log line of a request has the client's address, of the trusted proxy's header", async () => {
  const forwarded = { "x-forwarded-for": "203.0.113.9, 198.51.100.7" };
  const requests = [
    fetch(`${gateway.url}/v1/models`, { headers: forwarded }),
    fetch(`${gateway.url}/nope`, { headers: forwarded }),
    fetch(`${gateway.url}/v1/embeddings`, { method: "POST", headers: forwarded }),
  ];
  for (const response of await Promise.all(requests)) {
    const line = await logLineOf(response.headers.get("x-request-id") ?? "");
    expect(line).toMatchObject({ status: response.status, clientAddress: "198.51.100.7" });
  }
  // Bytes that are not HTTP have no headers.
  const connection = await RawConnection.open(gateway.url);
  connection.send("\x01\r\n\r\n");
  const { headers } = await connection.response();
  connection.disconnect();
  const line = await logLineOf(headers.get("x-request-id") ?? "");
  expect(line).toMatchObject({ error: "invalid_http", clientAddress: "127.0.0.1" });
});

test("the log line of a client that has disconnected has its address", async () => {
  const connection = await RawConnection.open(gateway.url);
  const body = { input: "a", model: "text-embedding-3-small" };
  fake.script({ hang: "headers" });
  connection.send(
    toHttpText({
      method: "POST",
      path: "/v1/embeddings",
      headers: jsonHeaders,
      body: JSON.stringify(body),
    }),
  );
  await until(() => fake.requests.length > 0);
  connection.disconnect();
  await until(() => gateway.log().includes('"error":"client_closed"'));
  const line = gateway
    .log()
    .split("\n")
    .find((each) => each.includes("client_closed"));
  expect(JSON.parse(line ?? "{}")).toMatchObject({ status: 499, clientAddress: "127.0.0.1" });
});

async function logLineOf(requestId: string): Promise<unknown> {
  const find = () =>
    gateway
      .log()
      .split("\n")
      .find((line) => line.includes(requestId));
  await until(() => find() !== undefined);
  return JSON.parse(find() ?? "{}");
}

test.each([
  ["an untrusted connection", "192.0.2.1", "198.51.100.7", "192.0.2.1"],
  ["a trusted network", "10.1.2.3", "198.51.100.7", "198.51.100.7"],
  ["two trusted proxies", "10.1.2.3", "203.0.113.9, 198.51.100.7, 10.9.9.9", "198.51.100.7"],
  ["an IPv4 address in IPv6 form", "::ffff:10.1.2.3", "198.51.100.7", "198.51.100.7"],
  ["a trusted proxy without the header", "10.1.2.3", undefined, "10.1.2.3"],
  ["a header that is no address", "10.1.2.3", "unknown", "10.1.2.3"],
])("the client's address with %s", (_name, remoteAddress, forwarded, expected) => {
  const headers = new Headers(forwarded === undefined ? {} : { "x-forwarded-for": forwarded });
  const clientAddress = createClientAddress("10.0.0.0/8");
  expect(clientAddress({ remoteAddress, headers })).toBe(expected);
});

test.each([
  ["of a trusted proxy", "127.0.0.1", "https"],
  ["of a client", "10.0.0.1", "http"],
])("image links follow the X-Forwarded-Proto %s", async (_name, trusted, scheme) => {
  const own = startGateway({
    yaml: configFor(fake.url),
    settings: { VEXEL_TRUSTED_PROXIES: trusted },
  });
  const body = { model: "gpt-image-2", prompt: "an otter", response_format: "url" };
  const response = await own.post("/v1/images/generations", body, {
    "x-forwarded-proto": "https",
  });
  const { data } = (await response.json()) as { data: { url: string }[] };
  await own.close();
  expect(data[0]?.url).toStartWith(own.url.replace("http", scheme));
});

test("the sign-in of a client that left before its connection was accepted is an ordinary attempt", async () => {
  // Bun has no address for a socket that is closed, and this one has none either.
  const socket = new NarrowSocket() as unknown as ByteSocket;
  const { remoteAddress } = new ClientConnection(
    socket,
    contextWith(async () => respondWith("")),
  );
  expect(remoteAddress).toBe("");
  const throttle = new SignInThrottle({ now: () => 0 });
  await throttle.waitInLine(remoteAddress);
});

test.each(["proxy.internal", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0"])(
  "%s as a trusted proxy is refused at the start",
  (text) => {
    expect(() => readSettings({ VEXEL_TRUSTED_PROXIES: text })).toThrow("VEXEL_TRUSTED_PROXIES");
  },
);
