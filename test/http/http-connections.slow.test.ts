/**
 * Clients that disconnect, stall, pipeline or send invalid HTTP: each gets a defined end, and the gateway keeps
 * serving.
 */

import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { until } from "../until.ts";
import {
  chunk,
  embeddingModel,
  expectError,
  jsonHeaders,
  png,
  RawConnection,
  startGatewayWithFake,
  toHttpText,
} from "./gateway-fixture.ts";

const edge = startGatewayWithFake({
  settings: { VEXEL_BODY_TIMEOUT: "1" },
  minBodyRate: 16,
});
const { gateway, fake } = edge;
const open: RawConnection[] = [];
const connect = async (...blocks: (string | Uint8Array)[]): Promise<RawConnection> => {
  const connection = await RawConnection.open(gateway.url, ...blocks);
  open.push(connection);
  return connection;
};
afterEach(async () => {
  for (const connection of open.splice(0)) connection.disconnect();
  // After each test, the next client is served.
  expect((await gateway.post("/v1/embeddings", { model: embeddingModel, input: "a" })).status).toBe(
    200,
  );
  fake.clear();
});
afterAll(() => edge.close());

const body = JSON.stringify({ model: embeddingModel, input: "a", dimensions: 4 });
const _requestHead = { path: "/v1/embeddings", headers: jsonHeaders };
const head = (headers: Record<string, string>, path = "/v1/embeddings") =>
  toHttpText({ method: "POST", path, headers: { ...jsonHeaders, ...headers } });
const lastRow = () => gateway.rows().at(-1);

describe("a client that disconnects in the middle of a body", () => {
  const boundary = "cut";
  const form = `--${boundary}\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n`;
  const typed = { "content-type": `multipart/form-data; boundary=${boundary}` };

  test.each<[string, (string | Uint8Array)[]]>([
    ["of announced length", [head({ "content-length": "100" }), "{"]],
    ["of a large announced length", [head({ "content-length": "1000000" }), "{"]],
    ["in chunked coding", [head({ "transfer-encoding": "chunked" }), chunk("{")]],
    ["inside a chunk", [head({ "transfer-encoding": "chunked" }), 'a\r\n{"mo']],
    ["that never started", [head({ "content-length": "100" })]],
    ["of a form", [head({ ...typed, "content-length": "1000000" }, "/v1/images/edits"), form, png]],
    [
      "of a form that was on its way to disk",
      [
        head({ ...typed, "content-length": "9000000" }, "/v1/images/edits"),
        form,
        png,
        Buffer.alloc(2_000_000),
      ],
    ],
  ])("%s leaves a ledger row with the error", async (_, blocks) => {
    const before = gateway.rows().length;
    const connection = await connect(...blocks);
    await Bun.sleep(50);
    connection.disconnect();
    await until(() => gateway.rows().length > before);
    expect(lastRow()).toMatchObject({ status: 400, error: "incomplete_body", attempts: 0 });
    expect(fake.requests).toHaveLength(0);
  });
});

describe("a body that stops arriving", () => {
  const slow = async (...blocks: (string | Uint8Array)[]) => {
    const started = performance.now();
    const connection = await connect(...blocks);
    const response = await connection.response();
    return { connection, response, ms: performance.now() - started };
  };

  test("times out after VEXEL_BODY_TIMEOUT, wherever it stopped", async () => {
    const form = { "content-type": "multipart/form-data; boundary=x", "content-length": "1000" };
    const stops = [
      [head({ "content-length": "100" })],
      [head({ "content-length": "100" }), '{"model":'],
      [head({ "content-length": "1000000" }), '{"model":'],
      [head({ "transfer-encoding": "chunked" }), "1\r\n{\r\n"],
      [head(form, "/v1/images/edits"), "--x\r\ncontent-disposition: form-da"],
    ];
    const before = gateway.rows().length;
    for (const { connection, response, ms } of await Promise.all(
      stops.map((all) => slow(...all)),
    )) {
      const message = await expectError(response, "request_timeout");
      expect(message).toContain("waited 1 s");
      expect(ms).toBeGreaterThan(900);
      expect(ms).toBeLessThan(5_000);
      await connection.closed;
    }
    const rows = gateway.rows().slice(before);
    expect(rows.map(({ error }) => error)).toEqual(stops.map(() => "request_timeout"));
  });

  test("at times, but stays above the minimum rate, is read to its end", async () => {
    const connection = await connect(head({ "transfer-encoding": "chunked" }));
    for (let at = 0; at < body.length; at += Math.ceil(body.length / 6)) {
      connection.send(chunk(body.slice(at, at + Math.ceil(body.length / 6))));
      await Bun.sleep(300);
    }
    connection.send("0\r\n\r\n");
    expect((await connection.response()).status).toBe(200);
  });

  test("does not delay other requests", async () => {
    const timeOf = async (): Promise<number> => {
      const started = performance.now();
      for (let i = 0; i < 5; i++) await (await gateway.post("/v1/embeddings", body)).text();
      return performance.now() - started;
    };
    const alone = await timeOf();
    const slowly = Array.from({ length: 20 }, () => slow(head({ "content-length": "100" })));
    expect(await timeOf()).toBeLessThan(800 + 10 * alone);
    for (const { response } of await Promise.all(slowly)) expect(response.status).toBe(408);
  });
});

describe("requests on one connection", () => {
  test("that are pipelined by the thousand do not delay other clients", async () => {
    const connection = await connect();
    const timeOf = async (): Promise<number> => {
      const started = performance.now();
      for (let i = 0; i < 3; i++) expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
      return performance.now() - started;
    };
    const alone = await timeOf();
    const one = "POST /nope HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\na";
    connection.send(one.repeat(50_000));
    // It took two seconds for each 50,000.
    expect(await timeOf()).toBeLessThan(900 + 10 * alone);
    connection.disconnect();
  });
});
