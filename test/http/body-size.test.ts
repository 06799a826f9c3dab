/** Bodies above the maximum size are refused with an error, and their connection stays usable. */
import { afterAll, describe, expect, test } from "bun:test";
import {
  chunk,
  embeddingModel,
  expectError,
  jsonHeaders,
  RawConnection,
  startGatewayWithFake,
  toHttpText,
} from "./gateway-fixture.ts";

const most = 100_000;
const edge = startGatewayWithFake({ settings: { VEXEL_MAX_BODY_BYTES: String(most) } });
const { gateway, fake } = edge;
afterAll(() => edge.close());

/** Valid JSON with exactly this many bytes. */
const bodyOf = (bytes: number): string =>
  JSON.stringify({ model: embeddingModel, input: "a" }).padEnd(bytes, " ");
const head = (headers: Record<string, string>) =>
  toHttpText({ method: "POST", path: "/v1/embeddings", headers: { ...jsonHeaders, ...headers } });
const chunked = { "transfer-encoding": "chunked" };

async function expectStillOfUse(connection: RawConnection): Promise<void> {
  connection.send(toHttpText({ path: "/healthz" }));
  expect((await connection.response()).status).toBe(200);
  connection.send(toHttpText({ path: "/v1/embeddings", headers: jsonHeaders, body: bodyOf(100) }));
  expect((await connection.response()).status).toBe(200);
  connection.disconnect();
}

describe("a body of the maximum size is read", () => {
  test("with its length announced", async () => {
    expect((await gateway.post("/v1/embeddings", bodyOf(most))).status).toBe(200);
  });

  test("in chunks", async () => {
    const connection = await RawConnection.open(gateway.url);
    connection.send(head(chunked), chunk(bodyOf(most)), "0\r\n\r\n");
    expect((await connection.response()).status).toBe(200);
    await expectStillOfUse(connection);
  });
});

describe("a body of one byte more is refused", () => {
  test("by its announced length alone, before any of it is sent", async () => {
    const connection = await RawConnection.open(gateway.url);
    connection.send(head({ "content-length": String(most + 1) }));
    const message = await expectError(await connection.response(), "request_too_large");
    expect(message).toContain(
      `${most} bytes. The operator of the gateway can raise it with VEXEL_MAX_BODY_BYTES.`,
    );
    // The client may still send the announced body; it is discarded.
    await connection.sendAll(Buffer.from(bodyOf(most + 1)));
    await expectStillOfUse(connection);
  });

  test("by the bytes received, if no length was announced", async () => {
    const connection = await RawConnection.open(gateway.url);
    connection.send(head(chunked), chunk(bodyOf(most)), chunk(" "));
    const message = await expectError(await connection.response(), "request_too_large");
    expect(message).toContain(
      `${most} bytes. The operator of the gateway can raise it with VEXEL_MAX_BODY_BYTES.`,
    );
    connection.send("0\r\n\r\n");
    await expectStillOfUse(connection);
  });

  test("a refused body has a ledger row, and no upstream request", async () => {
    fake.clear();
    const refused = await gateway.post("/v1/embeddings", bodyOf(most + 1));
    await expectError(refused, "request_too_large");
    expect(fake.requests).toHaveLength(0);
    expect(gateway.rows().at(-1)).toMatchObject({
      requestId: refused.headers.get("x-request-id"),
      status: 413,
      error: "request_too_large",
      model: null,
      attempts: 0,
    });
  });
});

describe("a body of many megabytes", () => {
  const block = Buffer.alloc(1_000_000, " ");

  test.each([
    ["announced", { "content-length": "50000000" }, block],
    ["in chunks", chunked, chunk(block)],
  ] as const)(
    "%s gets its response while it is still being sent, and then the connection is closed",
    async (_, headers, one) => {
      const connection = await RawConnection.open(gateway.url, head(headers));
      for (let i = 0; i < 25; i++) await connection.sendAll(one);
      await expectError(await connection.response(), "request_too_large");
      for (let i = 0; i < 25; i++) await connection.sendAll(one);
      await connection.closed;
    },
  );

  test.each([["99999999999999"], ["9007199254740991"]])(
    "gets its response also if it announces %s bytes and never sends them",
    async (length) => {
      const connection = await RawConnection.open(gateway.url, head({ "content-length": length }));
      await expectError(await connection.response(), "request_too_large");
      connection.disconnect();
    },
  );

  test("to an unknown path gets 404, also if the client sends all of it before it reads", async () => {
    const connection = await RawConnection.open(
      gateway.url,
      toHttpText({ method: "POST", path: "/x", headers: { "content-length": "9000000" } }),
    );
    for (let i = 0; i < 9; i++) await connection.sendAll(block);
    const responseBody = await connection.response();
    expect(responseBody.headers.get("connection")).toBe("close");
    await expectError(responseBody, "unknown_url");
    await connection.closed;
  });

  test("is discarded if its remainder is short, and the connection is reused", async () => {
    const connection = await RawConnection.open(
      gateway.url,
      toHttpText({ method: "POST", path: "/x", headers: { "content-length": "1000000" } }),
    );
    const responseBody = await connection.response();
    expect(responseBody.headers.get("connection")).toBeNull();
    await expectError(responseBody, "unknown_url");
    await connection.sendAll(block);
    await expectStillOfUse(connection);
  });
});
