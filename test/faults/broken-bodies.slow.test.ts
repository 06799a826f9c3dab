/** Upstream responses that break off, are not valid, or exceed the size limit. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { InjectedFault } from "../fake-upstream.ts";
import {
  expectError,
  expectVectors,
  jsonResponse,
  send,
  startFaultSetup,
  unreachableUrl,
  upstreamFailure,
} from "./faults-fixture.ts";

const setup = startFaultSetup({ maxResponseBytes: 200_000 });
const { fake } = setup;
beforeEach(() => fake.clear());
afterAll(() => setup.close());

const unreachable = upstreamFailure("upstream_unreachable");
/** An embeddings request is retried twice before the client gets the error. */
const unreachableAfterRetries = { ...unreachable, attempts: 3 };
const invalid = upstreamFailure("upstream_invalid");

describe("a connection that keeps breaking is reported as unreachable, and an image request is sent once,", () => {
  const phases = ["before-headers", "mid-headers", "mid-body"] as const;
  test.each(phases.flatMap((phase) => [["reset", phase] as const, ["close", phase] as const]))(
    "%s %s",
    async (how, phase) => {
      fake.script({ [how]: phase }, { times: 3 });
      await expectError(setup, await send.embeddings(setup), unreachableAfterRetries);
      expect(fake.requests).toHaveLength(3);
      fake.script({ [how]: phase });
      await expectError(setup, await send.image(setup), unreachable);
      expect(fake.requests).toHaveLength(4);
    },
  );

  test("when nothing listens at the address", async () => {
    const setupWithoutServer = startFaultSetup({ addresses: [unreachableUrl] });
    try {
      const error = await expectError(
        setupWithoutServer,
        await send.embeddings(setupWithoutServer),
        unreachableAfterRetries,
      );
      expect(error.message).toBe("The upstream cannot be reached.");
    } finally {
      await setupWithoutServer.close();
    }
  });

  test.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.9\r\n"],
    ["a content-length that is not a number", "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}"],
    ["a chunk without a size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}"],
    ["endless headers", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(1_000_000)}`],
  ])("when the server sends %s", async (_, message) => {
    const otherServer = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.end(message) },
    });
    const setupWithOther = startFaultSetup({
      addresses: [`http://127.0.0.1:${otherServer.port}/v1`],
    });
    try {
      await expectError(
        setupWithOther,
        await send.embeddings(setupWithOther),
        unreachableAfterRetries,
      );
      await expectError(setupWithOther, await send.image(setupWithOther), unreachable);
    } finally {
      otherServer.stop(true);
      await setupWithOther.close();
    }
  });

  test("a request after the failure succeeds", async () => {
    fake.script({ reset: "mid-body" });
    await (await send.embeddings(setup)).text();
    await expectVectors(await send.embeddings(setup));
  });
});

describe("an invalid upstream response is reported as invalid:", () => {
  test.each<[string, InjectedFault]>([
    ["a truncated document", { body: "truncated" }],
    ["empty", { body: "empty" }],
    ["an HTML page with status 200", { body: "html" }],
    ["not in its declared content-encoding", { encoding: "mislabeled" }],
    ["a status without a body", { response: { status: 204 } }],
    ["a bare null", { response: { status: 200, body: "null" } }],
    ["a list", { response: { status: 200, body: "[]" } }],
    ["not UTF-8", { response: { status: 200, body: new Uint8Array([0xff, 0xfe, 0x00]) } }],
  ])("%s", async (_, fault) => {
    fake.script(fault);
    await expectError(setup, await send.embeddings(setup), invalid);
    fake.script(fault);
    await expectError(setup, await send.image(setup), invalid);
  });
});

test("an image error with status 200 is reported as upstream_error", async () => {
  fake.script(jsonResponse({ error: { message: "no" } }));
  await expectError(setup, await send.image(setup), upstreamFailure("upstream_error"));
});

describe("a response above the size limit is rejected", () => {
  test.each<[string, InjectedFault]>([
    ["with a content-length", { huge: 5_000_000 }],
    ["without a content-length", { huge: 5_000_000, trickle: { bytes: 64 * 1024, everyMs: 0 } }],
    ["as a decompression bomb in gzip", { huge: 5_000_000, encoding: "gzip" }],
  ])("%s", async (_, fault) => {
    fake.script(fault);
    const error = await expectError(setup, await send.embeddings(setup), invalid);
    expect(error.message).toBe("The upstream's response is larger than 200000 bytes.");
    fake.script(fault);
    await expectError(setup, await send.image(setup), invalid);
  });

  test("an error response above the limit is still reported as an upstream error", async () => {
    fake.script({ fail: "server-error", huge: 5_000_000 }, { times: 3 });
    const failed = { ...upstreamFailure("upstream_error"), attempts: 3 };
    await expectError(setup, await send.embeddings(setup), failed);
  });

  test("a stream above the limit is rejected", async () => {
    fake.script({
      response: {
        status: 200,
        headers: { "content-type": "text/event-stream" },
        body: `data: ${"x".repeat(400_000)}`,
      },
    });
    await expectError(setup, await send.image(setup, { stream: true }), invalid);
  });
});
