/** Whatever is sent, only declared errors are returned: no 500, no crash, no hang, no response in another shape. */
import { afterAll, afterEach, expect, test } from "bun:test";
import fc from "fast-check";
import { encodeImage } from "../fake-upstream/fake-image.ts";
import type { InjectedFault } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { RawConnection, toHttpText } from "../http/gateway-fixture.ts";
import {
  changedRequest,
  damaged,
  fieldNames,
  models,
  oddText,
  oddValue,
  sketchCall,
  validRequest,
} from "./arbitrary.ts";
import { expectValidationError, type SentError } from "./expect-validation-error.ts";
import { checkProperty, expectDefined, expectUnharmed, startTarget } from "./fuzz-fixture.ts";

const target = startTarget();
const { gateway, fake } = target;
afterAll(() => target.close());
afterEach(() => expectUnharmed(target));

interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
}

const authorization = `Bearer ${testKey}`;

async function expectSound({
  path,
  method = "POST",
  headers = {},
  body,
}: Sent): Promise<SentError | undefined> {
  fake.clear();
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization, ...headers },
    ...(body !== undefined && method !== "GET" && method !== "HEAD" && { body }),
    redirect: "manual",
    signal: AbortSignal.timeout(20_000),
  });
  return expectDefined(response, target);
}

const json = { "content-type": "application/json" };

test("requests with a few mutated fields get a valid response or an error that names the field", async () => {
  const codes = new Set<string | null>();
  let tried = 0;
  await checkProperty(
    fc.asyncProperty(changedRequest, async ({ path, body }) => {
      tried++;
      const text = JSON.stringify(body);
      const error = await expectSound({ path, headers: json, body: text });
      if (!error || fake.requests.length > 0) return;
      codes.add(error.code);
      expectValidationError(error, JSON.parse(text) as Record<string, unknown>);
    }),
  );
  // The mutations reach the validation: these are the most frequent of its errors. A busy machine tries few cases.
  const mostFrequent = tried < 200 ? [] : ["invalid_type", "invalid_value"];
  expect([...codes]).toEqual(expect.arrayContaining(mostFrequent));
});

const editFields = ["images", "mask", "input_fidelity", "no_such_field"];
const embeddingFields = ["input", "encoding_format", "dimensions", "model", "user"];
const minimalBodies = [
  {
    path: "/v1/embeddings",
    body: { model: "text-embedding-3-small", input: "a" },
    has: (field: string) => embeddingFields.includes(field),
  },
  {
    path: "/v1/images/generations",
    body: { model: "gpt-image-2", prompt: "a hat" },
    has: (field: string) =>
      ![...editFields, "input", "encoding_format", "dimensions"].includes(field),
  },
  {
    path: "/v1/images/edits",
    body: { model: "gpt-image-2", prompt: "a hat", images: [{ file_id: "file-1" }] },
    has: (field: string) => editFields.includes(field),
  },
];
/** `undefined`: the field is absent. */
const wrongValues = [
  ...[undefined, null, true, -1, 0, 0.5, 1, 7, 1e9, "", "x", "a".repeat(40_000)],
  ...[[], {}, [null], [""], [{}], [0.5], [[]], [{ file_id: 7 }], [{ image_url: "x", more: 1 }]],
  Array.from({ length: 20 }, () => ({ file_id: "file-1" })),
];

test("each field with each wrong value gets a valid response or an error that names the field", async () => {
  const messages = new Set<string>();
  for (const { path, body, has } of minimalBodies) {
    for (const [at, field] of fieldNames.entries()) {
      // An endpoint without the field, or that reads it with the code of another endpoint, gets every fifth value.
      for (const value of wrongValues.filter((_, number) => has(field) || number % 5 === at % 5)) {
        const text = JSON.stringify({ ...body, [field]: value });
        const error = await expectSound({ path, headers: json, body: text });
        // Other requests of this test must not be refused because of the fake's errors.
        gateway.resetTargets();
        if (!error || fake.requests.length > 0) continue;
        expectValidationError(error, JSON.parse(text) as Record<string, unknown>);
        messages.add(error.message.replace(/^(\w+ \w+).*$/s, "$1"));
      }
    }
  }
  expect([...messages]).toEqual(
    expect.arrayContaining([
      "Missing required",
      "Invalid type",
      "Invalid value",
      "Unknown parameter",
    ]),
  );
});

test("requests with bytes removed, changed or inserted get a valid response or a declared error", async () => {
  const bytes = validRequest.chain(({ path, body }) =>
    damaged(Buffer.from(JSON.stringify(body))).map((whole) => ({ path, body: whole })),
  );
  await checkProperty(
    fc.asyncProperty(bytes, async ({ path, body }) => {
      await expectSound({ path, headers: json, body });
    }),
  );
});

const png = new Uint8Array(encodeImage({ format: "png", width: 64, height: 64, shade: 9 }));
const fileBytes = fc.oneof(
  fc.constant(png),
  fc.constantFrom(
    ...(["jpeg", "webp"] as const).map(
      (format) => new Uint8Array(encodeImage({ format, width: 64, height: 64, shade: 9 })),
    ),
  ),
  damaged(png),
  fc.uint8Array({ maxLength: 50 }).map((bytes) => new Uint8Array(bytes)),
  fc.constant(new Uint8Array(310_000)),
);
const fieldName = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom("image", "image[]", "image[3]", "mask", "prompt", "model", "n"),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom("size", "stream", "user", "output_format", "svg", "markup"),
  },
  { weight: 1, arbitrary: oddText },
);
const formEntry = fc.oneof(
  fc.record({
    name: fieldName,
    text: fc.oneof(oddText, models, fc.constantFrom("1", "true", "png")),
  }),
  fc.record({ name: fieldName, file: fileBytes, filename: oddText }),
);
const formRequest = fc.array(formEntry, { maxLength: 6 }).chain((entries) =>
  fc.boolean().map((complete) => {
    const form = new FormData();
    if (complete) {
      form.append("model", "gpt-image-2");
      form.append("prompt", "a hat");
      form.append("image", new Blob([png]), "a.png");
    }
    for (const entry of entries) {
      if ("file" in entry) form.append(entry.name, new Blob([entry.file]), entry.filename);
      else form.append(entry.name, entry.text);
    }
    return form;
  }),
);

test("arbitrary forms get a valid response or a declared error", async () => {
  await checkProperty(
    fc.asyncProperty(formRequest, async (form) => {
      await expectSound({ path: "/v1/images/edits", body: form });
    }),
  );
});

test("forms with bytes removed, changed or inserted get a valid response or a declared error", async () => {
  const boundary = "fuzz-boundary";
  const part = (head: string, body: string | Uint8Array) => [
    Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(body as string),
    Buffer.from("\r\n"),
  ];
  const whole = Buffer.concat([
    ...part('name="model"', "gpt-image-2"),
    ...part('name="prompt"', "a hat"),
    ...part('name="image"; filename="a.png"\r\ncontent-type: image/png', png),
    Buffer.from(`--${boundary}--\r\n`),
  ]);
  const type = fc.oneof(
    { weight: 8, arbitrary: fc.constant(`multipart/form-data; boundary=${boundary}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("multipart/form-data", "multipart/form-data; boundary=x"),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom("multipart/mixed; boundary=x", 'multipart/form-data; boundary="'),
    },
  );
  await checkProperty(
    fc.asyncProperty(damaged(whole), type, async (body, contentType) => {
      await expectSound({
        path: "/v1/images/edits",
        headers: { "content-type": contentType },
        body,
      });
    }),
  );
});

const path = fc.oneof(
  fc.constantFrom(
    "/v1/embeddings",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/models",
    "/v1/models/gpt-image-2",
    "/v1/engines/x/embeddings",
    "/files/images/x.png",
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/",
  ),
  oddText.map((text) => `/v1/models/${encodeURIComponent(text.toWellFormed())}`),
  oddText.map((text) => `/v1/engines/${encodeURIComponent(text.toWellFormed())}/embeddings`),
  oddText.map((text) => `/${encodeURI(text.toWellFormed())}`),
  fc.stringMatching(/^[a-z/%.]{0,30}$/).map((text) => `/${text}`),
);
const headerValue = fc.stringMatching(/^[\x21-\x7e]{0,40}$/);
const headers = fc.record(
  {
    authorization: fc.oneof(
      headerValue,
      headerValue.map((text) => `Bearer ${text}`),
    ),
    "api-key": headerValue,
    "content-type": fc.oneof(
      headerValue,
      fc.constantFrom("application/json", "multipart/form-data"),
    ),
    accept: headerValue,
    origin: headerValue,
    "accept-encoding": headerValue,
    "content-encoding": fc.constantFrom("gzip", "br", "identity"),
    "idempotency-key": headerValue,
    "x-forwarded-proto": headerValue,
    range: fc.constantFrom("bytes=0-1", "bytes=9-1"),
  },
  { requiredKeys: [] },
);

test("any path, method, headers and body get a valid response or a declared error", async () => {
  const method = fc.constantFrom("POST", "GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD");
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => new Uint8Array(bytes)),
    oddValue.map((value) => JSON.stringify(value) ?? ""),
  );
  await checkProperty(
    fc.asyncProperty(path, method, headers, body, async (address, verb, more, bytes) => {
      await expectSound({ path: address, method: verb, headers: more, body: bytes });
    }),
  );
});

const fault: fc.Arbitrary<InjectedFault> = fc.oneof(
  fc.record({
    fail: fc.constantFrom<NonNullable<InjectedFault["fail"]>>(
      ...(["rate-limit", "slow-down", "quota", "billing", "credentials", "forbidden"] as const),
      ...(["server-error", "html", "overloaded", "bad-gateway", "too-large", "detail"] as const),
    ),
  }),
  fc.record({
    response: fc.record({
      status: fc.constantFrom(200, 201, 204, 301, 400, 404, 418, 422, 429, 451, 500, 503, 599),
      headers: fc.constantFrom<Record<string, string>>(
        {},
        { "content-type": "application/json" },
        { "content-type": "text/event-stream" },
        { "retry-after": "soon" },
      ),
      body: fc.oneof(
        oddText,
        oddValue.map((value) => JSON.stringify(value) ?? ""),
      ),
    }),
  }),
  fc.record({ body: fc.constantFrom("truncated", "empty", "html", "text") }),
  fc.record({ reset: fc.constantFrom("before-headers", "mid-headers", "mid-body") }),
  fc.record({ close: fc.constantFrom("before-headers", "mid-headers", "mid-body") }),
  fc.record({
    vectors: fc.constantFrom("missing", "nan", "nan-literal", "zero", "odd-base64", "no-index"),
  }),
  fc.record({ images: fc.constantFrom("missing", "extra", "none", "garbage", "empty") }),
  fc.record({ stream: fc.constantFrom("cut", "ends-early", "error", "json", "crlf", "empty") }),
  fc.record({ encoding: fc.constantFrom("gzip", "br", "mislabeled") }),
);

test("arbitrary upstream responses become a valid response or a declared error", async () => {
  await checkProperty(
    fc.asyncProperty(validRequest, fault, async ({ path: address, body }, wrong) => {
      fake.clear();
      fake.script(wrong, { times: 3 });
      const response = await gateway.post(address, body);
      await expectDefined(response, target);
    }),
  );
});

test("arbitrary edits by the built-in image model get a valid response or a declared error", async () => {
  const entries = fc.record({
    prompt: oddText,
    file: fileBytes,
    mask: fc.option(fileBytes),
    size: fc.constantFrom("256x256", "auto", "axb"),
    output_format: fc.constantFrom("png", "jpeg", "svg", "tiff"),
  });
  await checkProperty(
    fc.asyncProperty(entries, async ({ prompt, file, mask, size, output_format }) => {
      const form = new FormData();
      const fields = { model: "vexel-sketch", prompt, size, output_format };
      for (const [name, value] of Object.entries(fields)) form.append(name, value);
      form.append("image", new Blob([file]), "a.png");
      if (mask) form.append("mask", new Blob([mask]), "m.png");
      await expectSound({ path: "/v1/images/edits", body: form });
    }),
  );
});

test("arbitrary generations by the built-in image model get a valid response or a declared error", async () => {
  await checkProperty(
    fc.asyncProperty(sketchCall, async ({ path: address, body }) => {
      await expectSound({ path: address, headers: json, body: JSON.stringify(body) });
    }),
  );
});

test("arbitrary bytes on a socket get a response or a close, and never hang", async () => {
  const request = toHttpText({
    path: "/v1/embeddings",
    headers: { authorization, ...json },
    body: '{"model":"text-embedding-3-small","input":"a"}',
  });
  await checkProperty(
    fc.asyncProperty(damaged(Buffer.from(request)), async (bytes) => {
      const connection = await RawConnection.open(gateway.url, bytes);
      // The server waits for the rest of an incomplete request, so the client closes its sending side.
      connection.endInput();
      await Promise.race([
        connection.closed,
        Bun.sleep(10_000).then(() => {
          throw new Error(`silence after ${connection.received.slice(0, 100)}`);
        }),
      ]);
    }),
  );
});
