/**
 * However requests are split, the server parses them in one way, as they were sent, or refuses them; responses arrive
 * to the last byte.
 */
import { afterAll, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import fc from "fast-check";
import { createBodyTimeout } from "../../server/http/body-timeout.ts";
import { readForm } from "../../server/http/form.ts";
import type { RequestHead } from "../../server/http/server/http-server.ts";
import type { OutgoingResponse } from "../../server/request/http-types.ts";
import { MemoryBudget } from "../../server/temp-storage/request-temp.ts";
import { ResponseParser } from "../../server/upstream/transport/parse-response.ts";
import { tries } from "../depth.ts";
import { unlimitedStorage } from "../harness.ts";
import { readBody, respondWith, serve, streamedBody } from "../http/http-server-fixture.ts";
import {
  bytes,
  converse,
  cuts,
  damaged,
  inChunks,
  lastOne,
  latin,
  parsedByNode,
  requests,
  splitAt,
} from "./http-requests-fixture.ts";

interface Reading {
  readonly head: RequestHead;
  readonly body: Buffer;
}
const readings: Reading[] = [];

/** Reads the body at once, late, or not at all, depending on the path. */
const reader = serve(async (request) => {
  const { head } = request;
  if (head.path.startsWith("/u")) return respondWith(head.path);
  if (head.path.startsWith("/l")) for (let at = 0; at < 3; at++) await new Promise(setImmediate);
  readings.push({ head, body: Buffer.from(await readBody(request)) });
  return respondWith(head.path);
});
let response: () => OutgoingResponse["body"] = () => "";
const teller = serve(() => respondWith(response()));
const bodyTimeout = createBodyTimeout({
  idleMs: 20_000,
  minRate: 0,
  clock: () => performance.now(),
});
let file: Buffer | undefined;
const taker = serve(async ({ head, body }) => {
  const limits = {
    maxFormBytes: 1e9,
    maxFileBytes: 1e9,
    memory: new MemoryBudget(1e9),
    folder: tmpdir(),
    storage: unlimitedStorage(),
  };
  const arriving = { headers: head, body };
  const form = await readForm(
    arriving,
    limits,
    { timeout: bodyTimeout, countReceived: () => undefined },
    "a-key",
  );
  file = Buffer.from((await form.files[0]?.bytes()) ?? "");
  await form.dispose();
  return respondWith(form.fields.map(({ value }) => value).join());
});
afterAll(async () => {
  for (const served of [reader, teller, taker]) {
    expect(served.errors).toEqual([]);
    expect(served.server.pending()).toBe(0);
    await served[Symbol.asyncDispose]();
  }
});

interface ParsedResponse {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Parses consecutive responses with a content-length, and nothing else. */
function responsesIn(received: Buffer): ParsedResponse[] {
  const found: ParsedResponse[] = [];
  for (let rest = received.toString("latin1"); rest !== ""; ) {
    const [whole, status] =
      /^HTTP\/1\.1 (\d\d\d) [\w ]+\r\n(?:[\w-]+: .*\r\n)*\r\n/.exec(rest) ?? [];
    if (whole === undefined) throw new Error(`This is no response: ${rest.slice(0, 200)}`);
    const length = Number(/\r\ncontent-length: (\d+)\r\n/.exec(whole)?.[1] ?? 0);
    const body = rest.slice(whole.length, whole.length + length);
    expect(body).toHaveLength(length);
    found.push({ status: Number(status), head: whole, body });
    rest = rest.slice(whole.length + length);
  }
  return found;
}

test("pipelined requests are parsed exactly as they were sent", async () => {
  const property = fc.asyncProperty(requests, cuts, async (sent, offsets) => {
    readings.length = 0;
    const wire = Buffer.concat([...sent.map((one) => one.wire), lastOne]);
    const responses = responsesIn(await converse(reader.server.port, splitAt(wire, offsets)));
    const paths = sent.map(({ target }) => target.replace(/\?.*/, ""));
    expect(responses.map(({ status, body }) => [status, body])).toEqual(
      [...paths, "/last"].map((path) => [200, path]),
    );
    const read = sent.filter(({ target }) => !target.startsWith("/u"));
    expect(readings.slice(0, -1).map(({ head }) => [head.method, head.path + head.search])).toEqual(
      read.map(({ method, target }) => [method, target]),
    );
    for (const [at, { body }] of read.entries()) {
      expect(readings[at]?.body.equals(body)).toBe(true);
    }
  });
  await fc.assert(property, tries(150));
});

test("mutated requests are parsed in one way, which other parsers share, or close their connection", async () => {
  const property = fc.asyncProperty(damaged, cuts, async (wire, offsets) => {
    const outcomes: string[] = [];
    for (const chunks of [[wire], splitAt(wire, offsets)]) {
      readings.length = 0;
      const responses = responsesIn(await converse(reader.server.port, chunks, true));
      const final = responses.filter(({ status }) => status !== 100);
      for (const [at, { status, head, body }] of final.entries()) {
        if (status === 200) continue;
        // The client closes its side at the end, so a body may be incomplete.
        expect(["invalid_http", "incomplete_body"]).toContain(JSON.parse(body).error.code);
        expect(head).toContain("\r\nconnection: close\r\n");
        expect(at).toBe(final.length - 1);
      }
      expect(final.filter(({ status }) => status === 200)).toHaveLength(readings.length);
      outcomes.push(
        JSON.stringify([
          final.map(({ status }) => status),
          readings.map(({ head, body }) => [head.method, head.path, head.search, latin1(body)]),
        ]),
      );
    }
    expect(outcomes[1]).toBe(outcomes[0] as string);
    expectShared(wire);
  });
  await fc.assert(property, tries(400));
});

const latin1 = (some: Buffer): string => some.toString("latin1");

/**
 * If Node parses a request too, it parses the same. It is stricter in some cases, but never sees a different request.
 */
function expectShared(wire: Buffer): void {
  const { parsed, refused } = parsedByNode(wire);
  for (const [at, { head, body }] of readings.entries()) {
    const other = parsed[at];
    if (!other) {
      expect(refused).toBe(true);
      return;
    }
    expect([head.method, latin1(body)]).toEqual([other.method, other.body]);
    if (/^\/[\w?=]*$/.test(other.url)) expect(head.path + head.search).toBe(other.url);
    for (const [name, value] of other.headers) expect(head.get(name)).toBe(value);
  }
}

test("responses of any size arrive to the last byte, whatever the type of their body", async () => {
  const made = fc.record({
    chunks: fc.array(bytes, { maxLength: 4 }),
    kind: fc.constantFrom("text", "parts", "bytes", "chunks", "texts", "disk"),
    minor: fc.constantFrom(0, 1),
  });
  const property = fc.asyncProperty(made, async ({ chunks, kind, minor }) => {
    const whole = Buffer.concat(chunks);
    async function* each() {
      for (const chunk of chunks) yield kind === "texts" ? latin1(chunk) : chunk;
    }
    const disk = streamedBody(whole.length, each as () => AsyncIterable<Uint8Array>);
    const kinds = { text: latin1(whole), parts: chunks.map(latin1), bytes: whole, disk };
    response = () => (kind in kinds ? kinds[kind as keyof typeof kinds] : each());
    const request = `GET / HTTP/1.${minor}\r\nhost: x\r\nconnection: close\r\n\r\n`;
    const parser = new ResponseParser(1e9);
    parser.push(await converse(teller.server.port, [latin(request)]));
    parser.close();
    expect([parser.done, parser.status]).toEqual([true, 200]);
    const expected = /text|parts/.test(kind) ? Buffer.from(latin1(whole)) : whole;
    expect(parser.body.equals(expected)).toBe(true);
  });
  await fc.assert(property, tries(150));
});

test("uploads arrive as they were sent, although their memory is released early", async () => {
  const part = (name: string) => `--b\r\ncontent-disposition: form-data; name="${name}"`;
  const upload = fc
    .array(bytes, { maxLength: 3 })
    .map((all) => Buffer.concat(all))
    .chain((whole) => {
      const body = Buffer.concat([
        latin(`${part("image")}; filename="a"\r\n\r\n`),
        whole,
        latin(`\r\n${part("n")}\r\n\r\n5\r\n--b--\r\nan unread epilogue`),
      ]);
      const sized = fc.constant({ line: `content-length: ${body.length}`, wire: body });
      const chunked = inChunks(body).map((wire) => ({ line: "transfer-encoding: chunked", wire }));
      return fc.record({ whole: fc.constant(whole), framed: fc.oneof(sized, chunked, chunked) });
    });
  const property = fc.asyncProperty(upload, upload, cuts, async (first, second, offsets) => {
    const wire = [first, second].flatMap(({ framed }) => [
      latin("POST / HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\n"),
      latin(`${framed.line}\r\n${framed === second.framed ? "connection: close\r\n" : ""}\r\n`),
      framed.wire,
    ]);
    file = undefined;
    const received = await converse(taker.server.port, splitAt(Buffer.concat(wire), offsets));
    expect(responsesIn(received).map(({ body }) => body)).toEqual(["5", "5"]);
    expect((file as Buffer | undefined)?.equals(second.whole)).toBe(true);
  });
  await fc.assert(property, tries(100));
});
