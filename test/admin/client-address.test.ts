/** The address of a client behind reverse proxies, in the audit log. */
import { afterAll, expect, test } from "bun:test";
import type { AuditEntry, Page } from "../../contract/admin.ts";
import { createClientAddress } from "../../server/admin/client-address.ts";
import { readSettings } from "../../server/settings.ts";
import { adminToken, getAdmin } from "../events/webhooks-fixture.ts";
import { startGateway } from "../harness.ts";

const gateway = startGateway({
  yaml: "keys: []",
  settings: {
    VEXEL_ADMIN_TOKEN: adminToken,
    VEXEL_CONSOLE: "on",
    VEXEL_TRUSTED_PROXIES: "127.0.0.1, ::1",
  },
});
afterAll(() => gateway.close());

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

test.each(["proxy.internal", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0"])(
  "%s as a trusted proxy is refused at the start",
  (text) => {
    expect(() => readSettings({ VEXEL_TRUSTED_PROXIES: text })).toThrow("VEXEL_TRUSTED_PROXIES");
  },
);
