/** Upstreams whose answer breaks off, is something else, or is far too much. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { InjectedFault } from "../fake-upstream.ts";
import { ask, expectRefused, expectVectors, nowhere, startBroken } from "./faults-fixture.ts";

const broken = startBroken({ settings: { VEXEL_MAX_RESPONSE_BYTES: "200000" } });
const { fake } = broken;
beforeEach(() => fake.clear());
afterAll(() => broken.close());

const unreachable = {
  status: 502,
  type: "server_error",
  code: "upstream_unreachable",
  error: "upstream_unreachable",
} as const;
/** Vectors are asked for twice more before anybody hears of it. */
const thrice = { ...unreachable, attempts: 3 } as const;
const invalid = { ...unreachable, code: "upstream_invalid", error: "upstream_invalid" } as const;

describe("a connection that breaks on and on is told as that, and a picture is ordered once", () => {
  const phases = ["before-headers", "mid-headers", "mid-body"] as const;
  test.each(phases.flatMap((phase) => [["reset", phase] as const, ["close", phase] as const]))(
    "%s %s",
    async (how, phase) => {
      fake.script({ [how]: phase }, { times: 3 });
      await expectRefused(broken, await ask.embeddings(broken), thrice);
      expect(fake.requests).toHaveLength(3);
      fake.script({ [how]: phase });
      await expectRefused(broken, await ask.picture(broken), unreachable);
      expect(fake.requests).toHaveLength(4);
    },
  );

  test("with nobody there", async () => {
    const nobody = startBroken({ elsewhere: [nowhere] });
    try {
      const error = await expectRefused(nobody, await ask.embeddings(nobody), thrice);
      expect(error.message).toBe("The upstream cannot be reached.");
    } finally {
      await nobody.close();
    }
  });

  test.each([
    ["another protocol", "SSH-2.0-OpenSSH_9.9\r\n"],
    ["a length that is no number", "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}"],
    ["a chunk without a size", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}"],
    ["headers without end", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(1_000_000)}`],
  ])("with something that speaks %s", async (_, words) => {
    const stranger = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.end(words) },
    });
    const odd = startBroken({ elsewhere: [`http://127.0.0.1:${stranger.port}/v1`] });
    try {
      await expectRefused(odd, await ask.embeddings(odd), thrice);
      await expectRefused(odd, await ask.picture(odd), unreachable);
    } finally {
      stranger.stop(true);
      await odd.close();
    }
  });

  test("and the next call finds its way again", async () => {
    fake.script({ reset: "mid-body" });
    await (await ask.embeddings(broken)).text();
    await expectVectors(await ask.embeddings(broken));
  });
});

describe("an answer that is not one is told as that", () => {
  test.each<[string, InjectedFault]>([
    ["half a document", { body: "truncated" }],
    ["nothing", { body: "empty" }],
    ["a page of HTML with status 200", { body: "html" }],
    ["something that is not compressed as it says", { encoding: "lie" }],
    ["a status without a body", { reply: { status: 204 } }],
    ["a bare null", { reply: { status: 200, body: "null" } }],
    ["a list", { reply: { status: 200, body: "[]" } }],
    [
      "bytes that are no text",
      { reply: { status: 200, body: new Uint8Array([0xff, 0xfe, 0x00]) } },
    ],
  ])("%s", async (_, fault) => {
    fake.script(fault);
    await expectRefused(broken, await ask.embeddings(broken), invalid);
    fake.script(fault);
    await expectRefused(broken, await ask.picture(broken), invalid);
  });

  test("a picture's error with status 200", async () => {
    const told = { ...invalid, code: "upstream_error", error: "upstream_error" } as const;
    fake.script({ reply: { status: 200, body: '{"error":{"message":"no"}}' } });
    await expectRefused(broken, await ask.picture(broken), told);
  });
});

describe("an answer that is far too much is not taken", () => {
  test.each<[string, InjectedFault]>([
    ["with its length announced", { huge: 5_000_000 }],
    ["without it", { huge: 5_000_000, trickle: { bytes: 64 * 1024, everyMs: 0 } }],
    ["compressed to nothing by gzip", { huge: 5_000_000, encoding: "gzip" }],
    ["compressed to nothing by brotli", { huge: 5_000_000, encoding: "br" }],
    ["compressed to nothing by zstd", { huge: 5_000_000, encoding: "zstd" }],
    ["compressed to nothing by deflate", { huge: 5_000_000, encoding: "deflate" }],
  ])("%s", async (_, fault) => {
    fake.script(fault);
    const error = await expectRefused(broken, await ask.embeddings(broken), invalid);
    expect(error.message).toBe("The upstream's response is larger than 200000 bytes.");
    fake.script(fault);
    await expectRefused(broken, await ask.picture(broken), invalid);
  });

  test("when it is the description of an error", async () => {
    fake.script({ fail: "server-error", huge: 5_000_000 }, { times: 3 });
    await expectRefused(broken, await ask.embeddings(broken), {
      status: 502,
      type: "server_error",
      code: "upstream_error",
      error: "upstream_error",
      attempts: 3,
    });
  });

  test("when it is a stream", async () => {
    fake.script({
      reply: {
        status: 200,
        headers: { "content-type": "text/event-stream" },
        body: `data: ${"x".repeat(400_000)}`,
      },
    });
    await expectRefused(broken, await ask.picture(broken, { stream: true }), invalid);
  });
});
