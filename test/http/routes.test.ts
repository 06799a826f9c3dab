/** Routes: every path and method has a defined response. */
import { afterAll, describe, expect, test } from "bun:test";
import { allowHeader } from "../../server/http/dispatch.ts";
import { routes } from "../../server/http/routes.ts";
import {
  bearer,
  expectError,
  jsonHeaders,
  RawConnection,
  startGatewayWithFake,
  toHttpText,
} from "./gateway-fixture.ts";

const edge = startGatewayWithFake();
const { gateway } = edge;
afterAll(() => edge.close());

const send = (path: string, method = "GET", headers: Record<string, string> = bearer) =>
  fetch(`${gateway.url}${path}`, { method, headers });

/** Each route with its path parameter filled in. */
const addresses = routes.map((row) => ({
  ...row,
  address: row.path
    .replace("{model}", "text-embedding-3-small")
    .replace("{id}", "req_of_nobody")
    .replace("{name}", `${"a".repeat(32)}.png`),
}));

/** Without an HTTP library, which would normalize the URL. */
async function raw(path: string, host = "vexel.test", method = "GET") {
  const connection = await RawConnection.open(gateway.url);
  connection.send(toHttpText({ method, path, headers: { ...bearer, host } }));
  const { status, headers, body } = await connection.response({ to: method });
  connection.disconnect();
  return new Response(method === "HEAD" || status === 204 ? null : body, { status, headers });
}

test("a request is for a model under every path of its route, so that it is logged once", () => {
  const isForModel = new Map(routes.map(({ name, model }) => [name, model]));
  for (const { name, sameAs, model } of routes) {
    if (sameAs !== undefined) expect([name, model]).toEqual([name, isForModel.get(sameAs)]);
  }
});

test("the path of Azure's old images API gets 404 with the path to use instead", async () => {
  const path = "/openai/images/generations:submit?api-version=2023-06-01-preview";
  const message = await expectError(await send(path, "POST"), "unknown_url");
  expect(message).toContain("POST /openai/deployments/{model}/images/generations");
  expect(message).toContain("api_type='open_ai'");
});

test.each(["/v1/images/variations", "/openai/deployments/dall-e-2/images/variations"])(
  "%s, which is not served, gets 404 with the path to use instead",
  async (path) => {
    const message = await expectError(await send(path, "POST"), "unknown_url");
    expect(message).toContain("Use POST /v1/images/edits ");
  },
);

test.each([
  "GET /v1/models/my%20model",
  "GET /v1/engines/my%20model",
  "GET /v1/engines/my+model",
  "POST /v1/engines/my%20model/embeddings",
  "POST /v1/deployments/my%20model/embeddings",
  "POST /openai/deployments/my%20model/images/generations",
])("%s names the model with its space in the error: no model has one", async (request) => {
  const [method = "", path = ""] = request.split(" ");
  const response =
    method === "GET"
      ? await send(path)
      : await gateway.post(path, { input: "a", prompt: "an otter" });
  expect(await expectError(response, "model_not_found")).toContain("`my model`");
});

describe("an unknown path gets 404", () => {
  test.each([
    ["/nothing"],
    ["/v1"],
    ["/v2/embeddings"],
    ["/v1/embedding"],
    ["/v1/embeddings/more"],
    ["/v1/EMBEDDINGS"],
    ["/v1/images"],
    ["/v1/chat/completions"],
    ["/v1/engines//embeddings"],
    ["/v1/images/variations"],
    ["/files/images/"],
    ["/favicon.ico"],
    ["//healthz"],
    ["//admin/api/targets"],
    ["//v1/engines//embeddings"],
    ["/healthz%2f"],
    ["/%zz"],
    ["/%"],
    ["/healthz#here"],
  ])("%s", async (path) => {
    for (const method of ["GET", "POST"]) {
      const message = await expectError(await raw(path, undefined, method), "unknown_url");
      expect(message).toStartWith(`Invalid URL (${method} /`);
    }
  });

  test("a very long path, which the message truncates", async () => {
    const message = await expectError(await raw(`/${"a".repeat(9_000)}`), "unknown_url");
    expect(message.length).toBeLessThan(300);
  });
});

describe("unusual spellings of a known path", () => {
  test.each([
    ["/healthz/", "a trailing slash"],
    ["/healthz?x=1", "a query"],
    ["/healthz/?x=/v1/models", "both"],
    ["http://elsewhere.test/healthz", "an absolute URL"],
  ])("%s is accepted: %s", async (path) => {
    const response = await raw(path);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
  });

  test.each([
    "/v1//embeddings",
    "//v1/embeddings",
    "//v1///embeddings",
    "//openai/deployments/text-embedding-3-small/embeddings",
    "/openai/deployments//text-embedding-3-small/embeddings",
    "/openai/deployments/text-embedding-3-small//embeddings",
    "/v1/engines/text-embedding-3-small//embeddings",
    "//openai//embeddings",
  ])("a doubled slash in the path of an API request is read as one: %s", async (path) => {
    const body = '{"model":"text-embedding-3-small","input":"a"}';
    const connection = await RawConnection.open(gateway.url);
    const headers = { ...jsonHeaders, host: "vexel.test", "content-length": `${body.length}` };
    connection.send(toHttpText({ method: "POST", path, headers }) + body);
    const response = await connection.response();
    connection.disconnect();
    expect(response.status).toBe(200);
    expect(JSON.parse(response.body.toString())).toMatchObject({ model: "text-embedding-3-small" });
  });

  test("a doubled slash inside a model id stays part of the id", async () => {
    const message = await expectError(await raw("/v1/models/a//b"), "model_not_found");
    expect(message).toContain("a//b");
  });

  test("a trailing slash after a model id is not part of the id", async () => {
    const model = await send("/v1/models/text-embedding-3-small/");
    expect(await model.json()).toMatchObject({ id: "text-embedding-3-small" });
    const vectors = await fetch(`${gateway.url}/v1/engines/text-embedding-3-small/embeddings/`, {
      method: "POST",
      headers: jsonHeaders,
      body: '{"input":"a"}',
    });
    expect(vectors.status).toBe(200);
  });

  test.each([["a/b"], ["a?b"], ["a#b"], ["user@host"], [""], ["a b"]])(
    "an invalid host header (%p) does not change the path",
    async (host) => {
      const response = await raw("/healthz", host);
      expect(await response.json()).toEqual({ status: "ok" });
    },
  );

  test("an HTTP/1.0 client without a host header gets the same routes", async () => {
    for (const [path, status] of [
      ["/healthz", 200],
      ["/readyz", 200],
      ["/v1/models", 401],
      ["/nothing", 404],
    ] as const) {
      const connection = await RawConnection.open(gateway.url, `GET ${path} HTTP/1.0\r\n\r\n`);
      expect((await connection.response()).status).toBe(status);
      connection.disconnect();
    }
  });

  test.each([["%zz"], ["%"], ["%ff"], ["a%00b"], ["etc%2fpasswd%00"], ["a/b/c"]])(
    "a model with an invalid id (%s) is not found",
    async (id) => {
      await expectError(await raw(`/v1/models/${id}`), "model_not_found");
    },
  );

  test.each([["ledger.db"], ["x%2fledger.db"], ["x.png"], [`${"a".repeat(32)}.exe`], ["%zz"]])(
    "an image that was not stored (%s) is not found",
    async (name) => {
      await expectError(await raw(`/files/images/${name}`), "unknown_url");
    },
  );
});

/** Routes of one object that a client stores: of an unknown id they respond 404. */
const isOfUnknownObject = (name: string, path: string): boolean =>
  /imageFile/i.test(name) ||
  name === "result" ||
  ((path.endsWith("}") || path.endsWith("/content")) && !/model|engine/i.test(name));

describe.each(addresses)("$method $path", ({ address, path, method, name }) => {
  const methods: readonly string[] = routes
    .filter((row) => row.path === path)
    .map((row) => row.method);
  const allow = allowHeader(methods);

  test("lists its methods for OPTIONS, without an API key and without CORS", async () => {
    const response = await send(address, "OPTIONS", {});
    expect(response.status).toBe(204);
    expect(response.headers.get("allow")).toBe(allow);
    expect(await response.text()).toBe("");
    expect([...response.headers.keys()].filter((each) => /^access-control/.test(each))).toEqual([]);
  });

  test("refuses other methods with 405 and the allowed ones", async () => {
    const all = ["PUT", "PATCH", "DELETE", "TRACE", "POST", "GET"];
    for (const other of all.filter((each) => !methods.includes(each))) {
      const response = await raw(address, undefined, other);
      expect(response.headers.get("allow")).toBe(allow);
      const message = await expectError(response, "method_not_allowed");
      expect(message).toContain(`Not allowed to ${other} on ${address}`);
    }
  });

  test("responds to HEAD as to GET, without a body", async () => {
    const head = await raw(address, undefined, "HEAD");
    expect(head.headers.get("x-request-id")).toMatch(/^req_/);
    if (!methods.includes("GET")) {
      expect(head.status).toBe(405);
      expect(head.headers.get("allow")).toBe(allow);
      return;
    }
    const get = await raw(address);
    expect(head.status).toBe(get.status);
    expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
    // Without a token for metrics there is no such path.
    const isOff = name === "metrics";
    const [headLength, getLength] = [head, get].map(({ headers }) => headers.get("content-length"));
    expect(headLength).toBe(getLength);
    const unknown = isOfUnknownObject(name, path) || isOff;
    const found = name === "root" ? 302 : 200;
    expect(get.status).toBe(unknown ? 404 : found);
  });

  test("has the request id in every response", async () => {
    const first = await send(address, method);
    const second = await send(address, method);
    const ids = [first, second].map((response) => response.headers.get("x-request-id"));
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{32}$/);
    expect(ids[0]).not.toBe(ids[1]);
    await Promise.all([first.text(), second.text()]);
  });

  test.each(path.startsWith("/v1/") ? [["an API key is required"]] : [])("%s", async () => {
    await expectError(await send(address, method, {}), "missing_api_key");
  });
});

test("an unexpected body is ignored", async () => {
  const connection = await RawConnection.open(gateway.url);
  for (let i = 0; i < 2; i++) {
    connection.send(toHttpText({ method: "GET", path: "/healthz", body: "hello" }));
    expect((await connection.response()).status).toBe(200);
  }
  connection.disconnect();
});
