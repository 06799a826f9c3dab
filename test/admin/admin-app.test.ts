/** The admin API as an app: its routes are those of the routing table, and its errors have OpenAI's shape. */
import { afterAll, describe, expect, test } from "bun:test";
import { z } from "zod";
import { createAdminApp } from "../../server/admin/admin-app.ts";
import { jsonBody } from "../../server/admin/admin-env.ts";
import { serveByFetch } from "../../server/http/fetch-bridge.ts";
import { routes } from "../../server/http/routes.ts";
import { adminKey, asOperator, startWithAdmin } from "../events/webhooks-fixture.ts";
import { expectError } from "../http/gateway-fixture.ts";

const gateway = startWithAdmin({ yaml: "" });
afterAll(() => gateway.close());
const request = (path: string, method: string, key: string | undefined = adminKey) =>
  fetch(`${gateway.url}${path}`, {
    method,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  });

const options = {
  key: adminKey,
  targets: () => [],
  events: { events: () => undefined },
  webhooks: { webhooks: () => ({ object: "list", data: [] }), testWebhook: async () => undefined },
};

test("every route of the app is in the routing table, and the other way round", () => {
  const inApp = createAdminApp(options)
    .routes.filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
  const inTable = routes
    .filter(({ mount }) => mount === "/admin")
    .map(({ method, path }) => `${method} ${path}`);
  expect(inApp.sort()).toEqual(inTable.sort());
  expect(inTable.length).toBeGreaterThan(3);
});

describe("a path of the admin API", () => {
  test("that does not exist gets 404 with the admin key, and 401 without", async () => {
    for (const path of ["/admin", "/admin/nothing", "/admin/webhooks/a/b/test", "/admin/api/x"]) {
      const message = await expectError(await request(path, "POST"), "unknown_url");
      expect(message).toBe(
        `Invalid URL (POST ${path}). GET /openapi.json lists the available paths.`,
      );
      await expectError(await request(path, "GET", ""), "missing_api_key");
    }
  });

  test("with another method gets 405 and the allowed methods", async () => {
    for (const [path, method, allow] of [
      ["/admin/targets", "DELETE", "GET, HEAD, OPTIONS"],
      ["/admin/webhooks/wh_0/test", "GET", "POST, OPTIONS"],
    ] as const) {
      const response = await request(path, method);
      expect(response.headers.get("allow")).toBe(allow);
      await expectError(response, "method_not_allowed");
    }
  });

  test("is not stored by caches", async () => {
    const response = await asOperator(gateway.url, "/admin/targets");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-length")).toBe(String((await response.text()).length));
  });
});

describe("a JSON body of the admin API", () => {
  const schema = z.strictObject({ name: z.string(), limit: z.int().min(1).nullable() });
  const app = createAdminApp(options);
  app.post("/things", async (context) => context.json(await jsonBody(context, schema)));
  const send = async (body: unknown) => {
    const incoming = {
      method: "POST",
      path: "/admin/things",
      search: "",
      publicUrl: "",
      signal: new AbortController().signal,
      headerEntries: () => [["authorization", `Bearer ${adminKey}`]],
      chunks: () => new ReadableStream(),
      json: () => body,
    } as unknown as Parameters<typeof serveByFetch>[0];
    return serveByFetch(incoming, (each) => app.fetch(each, { incoming }));
  };

  test("is validated, and null stays null", async () => {
    const { status, body } = await send({ name: "a", limit: null });
    expect([status, String(body)]).toEqual([200, '{"name":"a","limit":null}']);
  });

  test.each([
    [{ limit: 1 }, "missing_parameter", "name"],
    [{ name: 1, limit: 1 }, "invalid_type", "name"],
    [{ name: "a", limit: 0 }, "invalid_value", "limit"],
    [{ name: "a", limit: 1, other: 1 }, "unknown_parameter", "other"],
  ])("%j is refused with the parameter", async (body, kind, param) => {
    await expect(send(body)).rejects.toMatchObject({ kind, details: { param } });
  });

  test.each([[[]], ["text"], [null], [1]])("that is no object (%j) is refused", async (body) => {
    await expect(send(body)).rejects.toMatchObject({ kind: "invalid_json" });
  });
});
