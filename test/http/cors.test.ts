/** CORS: web pages of other origins have no access unless the operator names them. */
import { afterAll, describe, expect, test } from "bun:test";
import { firstCodes, sectionOf } from "../laws/markdown.ts";
import { embeddingModel, jsonHeaders, startGatewayWithFake } from "./gateway-fixture.ts";

const off = startGatewayWithFake();
const some = startGatewayWithFake({
  settings: { VEXEL_CORS_ORIGINS: "https://app.example, http://localhost:3000" },
});
const all = startGatewayWithFake({ settings: { VEXEL_CORS_ORIGINS: "*" } });
afterAll(() => Promise.all([off, some, all].map((edge) => edge.close())));

const origin = "https://app.example";
const preflight = (edge: typeof off, from = origin, path = "/v1/embeddings") =>
  fetch(`${edge.gateway.url}${path}`, {
    method: "OPTIONS",
    headers: {
      origin: from,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,x-stainless-os",
    },
  });
const send = (edge: typeof off, from = origin, key = true) =>
  edge.gateway.post(
    "/v1/embeddings",
    { model: embeddingModel, input: "a" },
    { origin: from, ...(key ? {} : { authorization: "Bearer sk-wrong" }) },
  );
const corsOf = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => /^(access-control-|vary)/.test(name)));

describe("by default", () => {
  test("no response allows another origin", async () => {
    expect(corsOf(await preflight(off))).toEqual({});
    expect(corsOf(await send(off))).toEqual({});
    expect(corsOf(await send(off, origin, false))).toEqual({});
  });
});

describe("with named origins", () => {
  const exposed = [
    "x-request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "idempotent-replayed",
    "vexel-ledger",
    "vexel-replica",
    "vexel-adapted",
    "vexel-dropped",
    "vexel-missing",
    "vexel-usage",
    "vexel-cost",
    "vexel-replayed-from",
    "x-ratelimit-limit-requests",
    "x-ratelimit-remaining-requests",
    "x-ratelimit-reset-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "x-ratelimit-limit-images",
    "x-ratelimit-remaining-images",
    "x-ratelimit-reset-images",
    "x-ratelimit-limit-megapixels",
    "x-ratelimit-remaining-megapixels",
    "x-ratelimit-reset-megapixels",
  ].join(", ");

  test("every response header of docs/api.md is exposed, except the one of methods", async () => {
    const documented = firstCodes(sectionOf("docs/api.md", "Response headers"));
    const response = await send(some);
    const names = response.headers.get("access-control-expose-headers")?.split(", ");
    expect(documented.filter((name) => name !== "allow" && !names?.includes(name))).toEqual([]);
  });

  test("a named origin may send requests and read the response with its exposed headers", async () => {
    for (const from of [origin, "http://localhost:3000"]) {
      const response = await send(some, from);
      expect(response.status).toBe(200);
      expect(corsOf(response)).toEqual({
        "access-control-allow-origin": from,
        "access-control-expose-headers": exposed,
        vary: "origin",
      });
    }
  });

  test("an error response can be read as well", async () => {
    const response = await send(some, origin, false);
    expect(response.status).toBe(401);
    expect(corsOf(response)).toMatchObject({ "access-control-allow-origin": origin });
  });

  test("a preflight request of a named origin gets methods and headers, and needs no API key", async () => {
    const response = await preflight(some);
    expect(response.status).toBe(204);
    expect(corsOf(response)).toEqual({
      "access-control-allow-origin": origin,
      "access-control-expose-headers": exposed,
      "access-control-allow-methods": "POST, OPTIONS",
      "access-control-allow-headers": "authorization,content-type,x-stainless-os",
      "access-control-max-age": "600",
      vary: "origin",
    });
  });

  test.each([
    ["https://evil.example"],
    ["https://app.example.evil.example"],
    ["http://app.example"],
    ["https://APP.example:8443"],
    ["null"],
  ])("another origin (%s) is not allowed, and the response has vary: origin", async (from) => {
    for (const response of [await preflight(some, from), await send(some, from)]) {
      expect(corsOf(response)).toEqual({ vary: "origin" });
    }
  });

  test("a preflight request for an unknown path gets 404", async () => {
    expect((await preflight(some, origin, "/nothing")).status).toBe(404);
  });
});

describe("with *", () => {
  test("any origin is allowed", async () => {
    for (const from of [origin, "https://anyone.example", "null"]) {
      expect(corsOf(await send(all, from))).toMatchObject({ "access-control-allow-origin": "*" });
      expect((await preflight(all, from)).headers.get("access-control-allow-methods")).toBe(
        "POST, OPTIONS",
      );
    }
  });

  test("a request without an origin gets its usual response", async () => {
    const response = await fetch(`${all.gateway.url}/v1/models`, { headers: jsonHeaders });
    expect(corsOf(response)).toEqual({});
  });
});
