/** The hosts under which browsers may open the console (DNS rebinding). */
import { afterAll, describe, expect, test } from "bun:test";
import { createCheckHost, createMayLinkTo } from "../../server/admin/allowed-hosts.ts";
import { testKey } from "../harness.ts";
import {
  expectError,
  RawConnection,
  startGatewayWithFake,
  toHttpText,
} from "../http/gateway-fixture.ts";

const adminToken = "admin-token-0123456789";
const edge = startGatewayWithFake({
  settings: { VEXEL_ADMIN_TOKEN: adminToken, VEXEL_CONSOLE_HOSTS: "Vexel.example, second.example" },
});
const { url } = edge.gateway;
afterAll(() => edge.close());

async function get(path: string, host: string, headers: Record<string, string> = {}) {
  const text = toHttpText({ path, headers: { host, ...headers } });
  const connection = await RawConnection.open(url, text);
  const response = await connection.response();
  connection.disconnect();
  return response;
}

const path = "/admin/api/session/options";

describe("with VEXEL_CONSOLE_HOSTS", () => {
  test("browsers open the console and the admin API under these hosts, localhost and IP addresses", async () => {
    for (const host of [
      "vexel.example",
      "VEXEL.example:8080",
      "vexel.example.",
      "second.example",
      "localhost:8080",
      "127.0.0.1:8080",
      "[::1]:8080",
      "[::1]",
    ]) {
      expect([host, (await get(path, host)).status]).toEqual([host, 200]);
    }
    expect((await get("/console/no.js", "vexel.example")).status).toBe(404);
  });

  test("neither is served under a host name of another site that points to the gateway", async () => {
    for (const host of ["evil.example", "vexel.example.evil", "127.0.0.1.evil.example:8080"]) {
      for (const each of [path, "/console", "/console/no.js"]) {
        const message = await expectError(await get(each, host), "permission_denied");
        expect(message).toContain("VEXEL_CONSOLE_HOSTS");
      }
    }
  });

  test("an authorization header of a page under another host opens nothing, except with the admin token", async () => {
    for (const authorization of ["x", "Basic x", "Bearer x", `Bearer ${testKey}`, adminToken]) {
      for (const each of [path, "/console", "/console/no.js"]) {
        const response = await get(each, "evil.example", { authorization });
        await expectError(response, "permission_denied");
      }
    }
  });

  test("scripts with the admin token, and the API for clients, are served under any host", async () => {
    const admin = await get("/admin/api/targets", "vexel.internal", {
      authorization: `Bearer ${adminToken}`,
    });
    expect(admin.status).toBe(200);
    const models = await get("/v1/models", "vexel.internal", {
      authorization: `Bearer ${testKey}`,
    });
    expect(models.status).toBe(200);
    expect((await get("/healthz", "10.0.0.1.probe")).status).toBe(200);
  });
});

test("the host of the public URL is allowed, and without the setting every host is", () => {
  const requestOf = (host: string) => ({ headers: new Headers({ host }) });
  const publicUrl = "https://gateway.example:8443/vexel";
  const check = createCheckHost({ hosts: "other.example", publicUrl, adminToken });
  check(requestOf("gateway.example"));
  expect(() => check(requestOf("evil.example"))).toThrow("evil.example");
  createCheckHost({ hosts: "", publicUrl, adminToken })(requestOf("evil.example"));
});

test("links lead to the public URL, or to a host that the operator has named", () => {
  const named = createMayLinkTo({ hosts: "vexel.example", publicUrl: "" });
  expect(["vexel.example", "localhost", "evil.example", null].map(named)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  // The link has the public URL, whatever the host of the request is.
  expect(createMayLinkTo({ hosts: "", publicUrl: "https://vexel.example" })("any")).toBe(true);
});
