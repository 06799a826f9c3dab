/** The admin API as a mounted app: unknown paths and methods, bodies, and errors in OpenAI's shape. */
import { afterAll, describe, expect, test } from "bun:test";
import { adminToken, asOperator, startWithAdmin } from "../events/webhooks-fixture.ts";
import { expectError, RawConnection } from "../http/gateway-fixture.ts";

const gateway = startWithAdmin({ yaml: "" });
afterAll(() => gateway.close());

const send = (path: string, method: string, body?: string): Promise<Response> =>
  fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    ...(body !== undefined && { body }),
  });

test("a path that does not exist gets 404 and the document that lists the paths", async () => {
  for (const [path, document] of [
    ["/admin", "/openapi.json"],
    ["/admin/nothing", "/openapi.json"],
    ["/admin/targets", "/openapi.json"],
    ["/admin/api/nothing", "/admin/api/openapi.json"],
    ["/admin/api/webhooks/a/b/test", "/admin/api/openapi.json"],
    ["/admin/api/playground/nothing", "/admin/api/openapi.json"],
  ]) {
    const message = await expectError(await send(`${path}`, "POST"), "unknown_url");
    expect(message).toBe(`Invalid URL (POST ${path}). GET ${document} lists the available paths.`);
  }
});

test("a path with another method gets 405 and the allowed methods", async () => {
  for (const [path, method, allow] of [
    ["/admin/api/targets", "DELETE", "GET, HEAD, OPTIONS"],
    ["/admin/api/webhooks/wh_0/test", "GET", "POST, OPTIONS"],
    ["/admin/api/keys", "PATCH", "GET, HEAD, POST, OPTIONS"],
  ] as const) {
    const response = await send(path, method);
    expect(response.headers.get("allow")).toBe(allow);
    await expectError(response, "method_not_allowed");
  }
});

// `fetch` refuses some of these methods, and changes others to upper case.
test.each(["FOO", "get", "Get", "post", "Post", "PROPFIND", "GET-ALL"])(
  "the method %s is refused with 405 and the allowed methods",
  async (method) => {
    const connection = await RawConnection.open(gateway.url);
    for (const [path, allow] of [
      ["/admin/api/keys", "GET, HEAD, POST, OPTIONS"],
      ["/admin/api/openapi.json", "GET, HEAD, OPTIONS"],
      ["/admin/api/playground/embeddings", "POST, OPTIONS"],
      ["/console", "GET, HEAD, OPTIONS"],
      ["/healthz", "GET, HEAD, OPTIONS"],
    ] as const) {
      const head = `host: a\r\nauthorization: Bearer ${adminToken}\r\ncontent-length: 2\r\n`;
      connection.send(`${method} ${path} HTTP/1.1\r\n${head}\r\n{}`);
      const { status, headers, body } = await connection.response();
      expect([path, status, headers.get("allow")]).toEqual([path, 405, allow]);
      expect(body).toContain(`Not allowed to ${method} on ${path}.`);
    }
    connection.disconnect();
  },
);

test("a small response is sent at once, with its length", async () => {
  const response = await asOperator(gateway.url, "/admin/api/targets");
  expect(response.headers.get("content-length")).toBe(String((await response.text()).length));
});

test("a query parameter that is in the URL twice is refused", async () => {
  const path = "/admin/api/requests?project=a&project=b";
  const message = await expectError(await send(path, "GET"), "invalid_value", "project");
  expect(message).toBe("Invalid 'project': it occurs more than once in the URL.");
});

test("a date that does not exist is refused, and the error shows a valid one", async () => {
  const body = JSON.stringify({ name: "a", expires: "2027-02-30" });
  const response = await send("/admin/api/keys", "POST", body);
  const message = await expectError(response, "invalid_value", "expires");
  expect(message).toContain("must be a date such as 2027-01-31");
});

test("an id that no URL can have, and a webhook name that no page can show, are refused", async () => {
  const target = { upstream: "vexel-minilm", model: "all-minilm-l6-v2" };
  const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
  const webhook = { url: "http://127.0.0.1:1/", secret };
  for (const [path, param, body, code = "invalid_value"] of [
    ["projects", "name", { name: ".." }],
    ["models", "id", { id: ".", kind: "embedding", targets: [target] }],
    ["webhooks", "name", { ...webhook, name: "a\nb" }],
    ["webhooks", "name", { ...webhook, name: "" }, "empty_string"],
    ["webhooks", "name", { ...webhook, name: "x".repeat(201) }, "string_above_max_length"],
  ] as const) {
    const response = await send(`/admin/api/${path}`, "POST", JSON.stringify(body));
    await expectError(response, code, param);
  }
});

test("the character U+0000 is refused in the URL, in a cursor and in a body", async () => {
  for (const path of ["/keys?search=a%00", "/requests/%00", "/requests?model=%00"]) {
    await expectError(await send(`/admin/api${path}`, "GET"), "invalid_value");
  }
  const cursor = Buffer.from(JSON.stringify(["/admin/api/keys", "1 \0"])).toString("base64url");
  await expectError(
    await send(`/admin/api/keys?cursor=${cursor}`, "GET"),
    "invalid_value",
    "cursor",
  );
  for (const body of [{ name: "a\0" }, { name: "a", "\0": 1 }, { limits: { a: ["\0"] } }]) {
    const response = await send("/admin/api/webhooks", "POST", JSON.stringify(body));
    await expectError(response, "invalid_value");
  }
});

describe("a JSON body", () => {
  test.each([
    [{ models: ["*"] }, "missing_parameter", "name"],
    [{ name: 1 }, "invalid_type", "name"],
    [{ name: "a", other: 1 }, "unknown_parameter", "other"],
  ] as const)("%j is refused with the parameter", async (body, kind, param) => {
    const response = await send("/admin/api/keys", "POST", JSON.stringify(body));
    await expectError(response, kind, param);
  });

  test.each([["[]"], ['"text"'], ["null"], ["1"], ["{"]])("%s is refused", async (body) => {
    await expectError(await send("/admin/api/keys", "POST", body), "invalid_json");
  });
});
