/**
 * JSON bodies that would be expensive to parse are refused by a scan of their bytes, and other clients do not notice.
 */
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { jsonBounds, scanWithinBounds } from "../../server/lib/json-bounds.ts";
import { JsonScan } from "../../server/lib/json-scan.ts";
import { tries } from "../depth.ts";
import {
  embeddingModel,
  expectError,
  imageModel,
  jsonHeaders,
  RawConnection,
  startGatewayWithFake,
  toHttpText,
} from "./gateway-fixture.ts";

const edge = startGatewayWithFake();
const { fake, gateway } = edge;
afterAll(() => edge.close());

const { depth, entries, containers, fields, escapes, plainBytes } = jsonBounds;
const repeat = (chunk: string, count: number): Buffer =>
  Buffer.alloc(chunk.length * count, chunk, "latin1");

function verdict(...chunks: readonly (string | Buffer)[]): string | undefined {
  const scan = new JsonScan();
  try {
    for (const chunk of chunks) scanWithinBounds(Buffer.from(chunk as string), scan);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return `${error.kind}: ${error.message}`;
  }
  return undefined;
}

describe("the scan counts", () => {
  test.each<[string, string, number, string]>([
    ["values", "1,", entries, "request_too_large: The JSON body has more than 524,288 values."],
    ["arrays and objects", "[]", containers, "more than 131,072 arrays and objects"],
    ["fields", '"a":1 ', fields, "more than 16,384 fields"],
    ["spaces and digits", " ", plainBytes, "more than 4,194,304 bytes outside of strings"],
  ])("%s, and refuses one more than the bound", (_, chunk, most, message) => {
    expect(verdict(repeat(chunk, most))).toBeUndefined();
    expect(verdict(repeat(chunk, most + 1))).toContain(message);
  });

  test("escape sequences within strings", () => {
    expect(verdict('"', repeat("\\n", escapes), '"')).toBeUndefined();
    expect(verdict('"', repeat("\\n", escapes + 1), '"')).toContain("escape sequences");
    expect(verdict('"', repeat('\\"', escapes + 1), '"')).toContain("escape sequences");
  });

  test("levels of nesting", () => {
    expect(verdict(repeat("[", depth), repeat("]", depth))).toBeUndefined();
    expect(verdict(repeat("[", depth + 1))).toStartWith(
      "invalid_json: The JSON body is nested more",
    );
    expect(verdict(repeat('{"a":', depth + 1))).toContain("levels deep");
    expect(verdict(repeat("[]", 1000))).toBeUndefined();
  });

  test("nothing within strings", () => {
    const signs = repeat('[{,:}] \\" ', 200_000);
    expect(verdict('["', signs, '"]')).toBeUndefined();
  });

  test("the same numbers wherever the body is split", () => {
    const bomb = "[".repeat(depth);
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string(), fc.constantFrom('"', "\\", '\\"', "[", "x".repeat(60)))),
        fc.array(fc.nat({ max: 400 }), { maxLength: 6 }),
        (parts, cuts) => {
          // The string ends exactly where JSON says; otherwise the brackets behind it would be missed, or counted too
          // early.
          const text = JSON.stringify(parts.join(""));
          const body = Buffer.from(`[${text},${bomb}`);
          const offsets = [0, ...cuts.map((at) => at % body.length).sort((a, b) => a - b)];
          const chunks = offsets.map((from, at) => body.subarray(from, offsets[at + 1]));
          expect(verdict(...chunks)).toContain("levels deep");
          expect(verdict(body.subarray(0, -1))).toBeUndefined();
        },
      ),
      tries(100),
    );
  });
});

test("only a refusal for too many values or arrays advises to send several requests", () => {
  const several = "Send the inputs in several requests.";
  expect(verdict(repeat("1,", entries + 1))).toEndWith(several);
  expect(verdict(repeat("[]", containers + 1))).toEndWith(several);
  expect(verdict(repeat('"a":1 ', fields + 1))).toEndWith(
    "Remove fields that the API does not define.",
  );
  expect(verdict('"', repeat("\\n", escapes + 1))).toEndWith(
    "Send text as UTF-8 instead of escaping it.",
  );
  expect(verdict(repeat(" ", plainBytes + 1))).toContain("without indentation");
});

test("the scan reads each byte once, wherever quotes and backslashes are", () => {
  const plain = "x".repeat(30);
  for (const chunk of [`"${plain}",`, `${plain}\\n`, `${plain}\\"`, `${plain}\\\\`, plain]) {
    const bytes = Buffer.from(`["${chunk.repeat(4000)}`);
    let searched = 0;
    const search = bytes.indexOf.bind(bytes);
    bytes.indexOf = (value, from) => {
      const found = search(value as number, from as number);
      searched += (found < 0 ? bytes.length : found) - (from as number);
      return found;
    };
    scanWithinBounds(bytes);
    // Once for each of the two characters.
    expect(searched).toBeLessThanOrEqual(2 * bytes.length);
  }
});

const begin = `{"model":"${embeddingModel}","input":`;

describe("is refused while it is being sent, and no upstream is called", () => {
  test.each<[string, string, "invalid_json" | "request_too_large"]>([
    ["a list of tokens", "12345,", "request_too_large"],
    ["a list of empty strings", '"",', "request_too_large"],
    ["unknown fields", '"a":1,', "request_too_large"],
    ["brackets", "[", "invalid_json"],
    ["nested objects", '{"a":', "invalid_json"],
    ["one number", "1", "request_too_large"],
    ["spaces", " ", "request_too_large"],
  ])("a body with %s without end", async (_, chunk, kind) => {
    fake.clear();
    const connection = await RawConnection.open(gateway.url);
    const most = 8_000_000;
    connection.send(
      toHttpText({
        method: "POST",
        path: "/v1/embeddings",
        headers: { ...jsonHeaders, "content-length": String(most) },
      }),
      // Values are sent within a list: otherwise the first values are refused as invalid JSON.
      chunk.endsWith(",") && !chunk.includes(":") ? `${begin}[` : begin,
    );
    const block = repeat(chunk, Math.ceil(1_000_000 / chunk.length));
    // 6 MB of the 8 MB that were announced: the response does not wait for the rest.
    for (let sent = 0; sent < 6; sent++) await connection.sendAll(block);
    await expectError(await connection.response(), kind);
    connection.disconnect();
    expect(fake.requests).toHaveLength(0);
  });
});

/**
 * The least CPU time of three runs, in ms: unlike the time on the clock, it does not depend on how busy the machine is.
 */
async function cpuMs(work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

test("a long list takes about as much CPU time as parsing its bytes", async () => {
  for (const entry of ["12345,", '"",', "[1],", "{},"]) {
    const body = `${begin}[${entry.repeat(Math.floor(2_000_000 / entry.length))}1]}`;
    const parsing = await cpuMs(() => JSON.parse(body));
    const serving = await cpuMs(async () => {
      await (await gateway.post("/v1/embeddings", body)).text();
    });
    // A wide margin: client and upstream are in this process too. A validator that tries each alternative on the whole
    // list needs a hundred times as long as parsing.
    expect(serving, `parsing alone took ${parsing.toFixed(0)} ms`).toBeLessThan(15 * parsing + 300);
  }
});

describe("a prompt that is longer than any model accepts", () => {
  test("is refused with its parameter and the limit, before the image request is planned", async () => {
    const prompt = "a".repeat(4 * 1024 * 1024 + 1);
    const response = await gateway.post("/v1/images/generations", { model: imageModel, prompt });
    const { error } = (await response.json()) as { error: Record<string, string> };
    expect([response.status, error.code, error.param]).toEqual([
      400,
      "string_above_max_length",
      "prompt",
    ]);
    expect(error.message).toContain("maximum length 4194304, but got a string with length 4194305");
  });
});
