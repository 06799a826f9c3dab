/** Invalid JSON bodies and invalid parameters: each gets its own error, and no upstream request is sent. */
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import {
  bearer,
  embeddingModel,
  expectError,
  imageModel,
  jsonHeaders,
  startGatewayWithFake,
} from "./gateway-fixture.ts";

const edge = startGatewayWithFake();
const { fake, gateway } = edge;
afterEach(() => {
  expect(fake.requests).toHaveLength(0);
});
afterAll(() => edge.close());

const paths = ["/v1/embeddings", "/v1/images/generations", "/v1/images/edits"] as const;
const send = (path: string, body: string | Uint8Array<ArrayBuffer>, type = "application/json") =>
  fetch(`${gateway.url}${path}`, {
    method: "POST",
    headers: { ...jsonHeaders, "content-type": type },
    body,
  });

describe.each(paths)("%s refuses", (path) => {
  test.each<[string, string]>([
    ["malformed JSON", '{"model": "x", '],
    ["JSON with something after it", "{} {}"],
    ["text", "hello"],
    ["NaN, which is not JSON", '{"model": NaN}'],
    ["Infinity, which is not JSON", '{"n": Infinity}'],
    ["a comment, which is not JSON", '{"n": 1 /* one */}'],
    ["single quotes, which are not JSON", "{'n': 1}"],
  ])("%s", async (_, body) => {
    const message = await expectError(await send(path, body), "invalid_json");
    expect(message).toStartWith("We could not parse the JSON body of your request.");
  });

  test("an empty body, with a message that says so", async () => {
    expect(await expectError(await send(path, ""), "invalid_json")).toContain("the body was empty");
  });

  test.each([["[]"], ['"text"'], ["1"], ["true"], ["null"], ["[{}]"]])(
    "JSON that is not an object: %s",
    async (body) => {
      const message = await expectError(await send(path, body), "invalid_json");
      expect(message).toStartWith("The body must be a JSON object");
    },
  );

  test("bytes that are not UTF-8", async () => {
    const body = Buffer.concat([
      Buffer.from('{"model":"'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]);
    const message = await expectError(await send(path, body), "invalid_json");
    expect(message).toBe("The request body is not valid UTF-8. Encode the JSON in UTF-8.");
  });

  test.each<[string, string, string]>([
    ["arrays", "[", "]"],
    ["objects", '{"a":', "}"],
  ])("%s nested very deep, in an unknown field", async (_, open, close) => {
    for (const depth of [200, 200_000]) {
      const bomb = `${open.repeat(depth)}1${close.repeat(depth)}`;
      const body = `{"model":"${embeddingModel}","input":"a","prompt":"a","extra":${bomb}}`;
      const message = await expectError(await send(path, body), "invalid_json");
      expect(message).toContain("levels deep");
    }
  });

  test("nested arrays that are never closed", async () => {
    await expectError(await send(path, "[".repeat(200_000)), "invalid_json");
  });

  test.each([
    ["text/plain"],
    ["application/x-www-form-urlencoded"],
    ["application/jsonx"],
    ["json"],
    ["text/plain; application/json"],
  ])("the content type %s", async (type) => {
    const message = await expectError(await send(path, "{}", type), "unsupported_content_type");
    expect(message).toContain(`'${type}'`);
  });
});

describe("a compressed body", () => {
  const packed: Readonly<Record<string, (text: string) => Uint8Array<ArrayBuffer>>> = {
    gzip: (text) => new Uint8Array(gzipSync(text)),
    deflate: (text) => new Uint8Array(deflateSync(text)),
    br: (text) => new Uint8Array(brotliCompressSync(text)),
    zstd: (text) => new Uint8Array(zstdCompressSync(text)),
  };
  const sendPacked = (
    path: string,
    body: string | Uint8Array<ArrayBuffer>,
    encoding: string,
    type = "application/json",
  ) =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { ...bearer, "content-type": type, "content-encoding": encoding },
      body,
    });

  test.each(Object.keys(packed))("%s: is refused, with the header and what to do", async (name) => {
    // Small and large bodies are read in different ways.
    for (const input of ["a", randomBytes(120_000).toString("hex")]) {
      const body = packed[name]!(JSON.stringify({ model: embeddingModel, input }));
      for (const path of ["/v1/embeddings", "/v1/images/generations"]) {
        const message = await expectError(
          await sendPacked(path, body, name),
          "unsupported_content_type",
        );
        expect(message).toContain(`'${name}'`);
        expect(message).toContain("'content-encoding'");
        expect(message).toContain("uncompressed");
      }
    }
  });

  test("is refused also if it is a form", async () => {
    const type = "multipart/form-data; boundary=x";
    const body = packed.gzip!("--x--\r\n");
    const response = await sendPacked("/v1/images/edits", body, "gzip", type);
    expect(await expectError(response, "unsupported_content_type")).toContain("'gzip'");
  });

  test("that is not compressed, despite its header, is accepted if it is small JSON", async () => {
    const body = (input: string) => JSON.stringify({ model: embeddingModel, input });
    expect((await sendPacked("/v1/embeddings", body("a"), "br")).status).toBe(200);
    fake.clear();
    const large = await sendPacked("/v1/embeddings", body("a".repeat(120_000)), "br");
    expect(await expectError(large, "unsupported_content_type")).toContain("'br'");
  });

  test("with content-encoding: identity is read as uncompressed", async () => {
    const body = JSON.stringify({ model: embeddingModel, input: "a" });
    expect((await sendPacked("/v1/embeddings", body, "identity")).status).toBe(200);
    fake.clear();
    await expectError(await sendPacked("/v1/embeddings", "{", "identity"), "invalid_json");
  });
});

test("a form is refused by an endpoint that reads only JSON", async () => {
  for (const path of ["/v1/embeddings", "/v1/images/generations"]) {
    const response = await send(path, "--x--\r\n", "multipart/form-data; boundary=x");
    await expectError(response, "unsupported_content_type");
  }
});

test("an error lists the supported values in OpenAI's form", async () => {
  const body = JSON.stringify({ model: embeddingModel, input: "a", encoding_format: "hex" });
  const response = await send("/v1/embeddings", body);
  expect(await expectError(response, "invalid_value", "encoding_format")).toBe(
    "Invalid value: 'hex'. Supported values are: 'float', 'base64', 'int8', 'uint8', 'binary', and 'ubinary'.",
  );
});

describe("embeddings refuse an input that", () => {
  test.each<[string, unknown, string]>([
    ["is missing", undefined, "It is missing"],
    ["is null, which counts as missing", null, "It is missing"],
    ["is an empty text", "", "It is an empty string."],
    ["is a number", 5, "not an integer"],
    ["is true", true, "not a boolean"],
    ["is an object without content", {}, "Entry 0 has no content"],
    ["is an empty array", [], "It is an empty array."],
    ["holds an empty text", ["a", ""], "Entry 1 is an empty string."],
    ["holds null", ["a", null], "Entry 1 is null"],
    ["mixes texts and numbers", ["a", 1], "Entry 1 is an integer"],
    ["mixes numbers and texts", [1, "a"], "Entry 1 is not a token"],
    ["mixes tokens and arrays of tokens", [1, [1]], "Entry 1 is not a token"],
    ["holds an array of texts", ["a", ["b"]], "Entry 1 has an element that is not a token"],
    ["holds an empty array of tokens", [[1], []], "Entry 1 is an empty array."],
    [
      "holds arrays of texts",
      [["a"]],
      "Entry 0 has an element that is not a token (an integer from 0).",
    ],
    ["holds a negative token", [-1], "Entry 0 is not a token"],
    ["contains a fraction as a token", [1.5], "Entry 0 is not a token"],
    ["holds a token above every vocabulary", [1e300], "Entry 0 is not a token"],
    ["holds objects without content", ["a", {}], "Entry 1 has no content"],
    ["holds an image, for a model of texts", [{ image: "AAAA" }], "reads texts only"],
    ["holds true", [true], "Entry 0 is a boolean"],
    ["has 2049 texts", Array(2049).fill("a"), "It has 2049 entries; at most 2048"],
    ["has 2049 arrays of tokens", Array(2049).fill([1]), "It has 2049 entries; at most 2048"],
  ])("%s", async (_, input, expectedMessage) => {
    const response = await gateway.post("/v1/embeddings", { model: embeddingModel, input });
    const message = await expectError(response, "invalid_input");
    expect(message).toStartWith("'$.input' is invalid. ");
    expect(message).toContain(expectedMessage);
  });
});

describe("an error names the missing parameter:", () => {
  test.each<[string, object]>([
    ["absent", { input: "a" }],
    ["null", { model: null, input: "a" }],
    ["empty", { model: "", input: "a" }],
  ])("the model of an embeddings request that is %s", async (_, body) => {
    const message = await expectError(await gateway.post("/v1/embeddings", body), "missing_model");
    expect(message).toStartWith("you must provide a model parameter. This API key may use: text-");
  });

  test.each<[string, string, object]>([
    ["prompt", "/v1/images/generations", { model: imageModel }],
    ["model", "/v1/images/generations", { prompt: "a" }],
    ["prompt", "/v1/images/edits", { model: imageModel, images: [{ file_id: "file-1" }] }],
    ["images", "/v1/images/edits", { model: imageModel, prompt: "a" }],
    [
      "images",
      "/v1/images/edits",
      { model: imageModel, prompt: "a", image: "data:image/png;base64," },
    ],
  ])("%s of %s", async (field, path, body) => {
    await expectError(await gateway.post(path, body), "missing_parameter", field);
  });

  test.each<[string, unknown, Parameters<typeof expectError>[1], string]>([
    ["empty", [], "empty_array", "images"],
    ["text", "a", "invalid_type", "images"],
    [
      "more than sixteen",
      Array(17).fill({ file_id: "file-1" }),
      "array_above_max_length",
      "images",
    ],
    ["of another type", ["a"], "invalid_type", "images[0]"],
    ["of empty objects", [{}], "invalid_value", "images[0]"],
    [
      "of objects that say two things",
      [{ file_id: "a", image_url: "https://x" }],
      "invalid_value",
      "images[0]",
    ],
    ["of objects with unknown members", [{ file: "a" }], "unknown_parameter", "images[0].file"],
    [
      "of an unsafe kind of link",
      [{ image_url: "file:///etc/passwd" }],
      "invalid_value",
      "images[0].image_url",
    ],
  ])("references to images that are %s", async (_, images, kind, param) => {
    const response = await gateway.post("/v1/images/edits", {
      model: imageModel,
      prompt: "a",
      images,
    });
    await expectError(response, kind, param);
  });
});

test("property names of Object.prototype are unknown fields like any other name", async () => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    const body = `{"model":"nobody","input":"a","prompt":"a","${name}":{"polluted":1}}`;
    await expectError(await send("/v1/embeddings", body), "model_not_found");
    await expectError(await send("/v1/images/generations", body), "model_not_found");
    const as = `{"model":"${name}","input":"a"}`;
    await expectError(await send("/v1/embeddings", as), "model_not_found");
  }
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test("a lone surrogate in a model name gets the error of an unknown model", async () => {
  const message = await expectError(
    await send("/v1/embeddings", '{"model":"\\ud800","input":"a"}'),
    "model_not_found",
  );
  expect(message).toContain("does not exist");
});
