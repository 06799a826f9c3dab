/** Generators of requests: valid ones, ones with up to three mutations, and arbitrary bytes. */
import fc from "fast-check";

/** Texts that parsers tend to get wrong. */
export const oddText = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(
    "",
    " ",
    "\0",
    "\ud800",
    "\u202e",
    "null",
    "NaN",
    "-1",
    "1e999",
    "__proto__",
    "constructor",
    "[object Object]",
    "../../../etc/passwd",
    "\r\nx-injected: 1",
    "$(id)",
    "<script>",
    "a".repeat(5_000),
  ),
);

const oddNumber = fc.oneof(
  fc.integer({ min: -5, max: 20 }),
  fc.constantFrom(0, -0, 0.5, 1e21, -1e308, 2 ** 31, 2 ** 53, Number.MIN_VALUE, 1024, 4096),
);

/** Any JSON at all. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  oddText,
  oddNumber,
  fc.constantFrom(null, true, false, [], {}, [[]], [{}], { a: { b: [] } }),
  fc.array(fc.oneof(oddText, oddNumber, fc.constant(null)), { maxLength: 5 }),
  fc.dictionary(oddText, fc.oneof(oddText, oddNumber), { maxKeys: 4 }),
  fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text) as unknown),
);

const embedders = [
  "text-embedding-3-small",
  "text-embedding-ada-002",
  "embedding-model",
  "all-minilm-l6-v2",
];
const imageModels = ["gpt-image-2", "image-model", "dall-e-3"];
export const models = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...embedders) },
  { weight: 8, arbitrary: fc.constantFrom(...imageModels) },
  { weight: 1, arbitrary: oddText },
);

const words = fc.oneof(
  fc.constantFrom("a red boat", "a blue house by the sea", "three cats", "forbidden things"),
  oddText,
);

const token = fc.integer({ min: 0, max: 100_000 });
const input = fc.oneof(
  words,
  fc.array(words, { minLength: 1, maxLength: 4 }),
  fc.array(token, { minLength: 1, maxLength: 8 }),
  fc.array(fc.array(token, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
);

/** Each field is present or absent. */
const some = (fields: Record<string, fc.Arbitrary<unknown>>, required: readonly string[]) =>
  fc.record(fields, { requiredKeys: [...required] });

const embeddingsBody = some(
  {
    model: fc.constantFrom(...embedders),
    input,
    encoding_format: fc.constantFrom("float", "base64"),
    dimensions: fc.integer({ min: 1, max: 400 }),
    user: words,
  },
  ["model", "input"],
);

const imageFields = {
  model: fc.constantFrom(...imageModels),
  prompt: words,
  n: fc.integer({ min: 1, max: 3 }),
  size: fc.constantFrom("auto", "1024x1024", "1536x1024", "256x256", "1x1"),
  quality: fc.constantFrom("auto", "low", "high", "standard", "hd", "max"),
  background: fc.constantFrom("auto", "transparent", "opaque"),
  moderation: fc.constantFrom("auto", "low"),
  output_format: fc.constantFrom("png", "jpeg", "webp", "gif", "svg"),
  output_compression: fc.integer({ min: 0, max: 100 }),
  response_format: fc.constantFrom("url", "b64_json"),
  partial_images: fc.integer({ min: 0, max: 3 }),
  stream: fc.boolean(),
  style: fc.constantFrom("vivid", "natural"),
  user: words,
  safety_identifier: words,
};
const generationBody = some(imageFields, ["model", "prompt"]);
const editBody = some(
  {
    ...imageFields,
    images: fc.array(
      fc.constantFrom(
        { file_id: "file-1" },
        { image_url: "https://example.com/a.png" },
        { image_url: "data:image/png;base64,iVBORw0KGgo=" },
      ),
      { minLength: 1, maxLength: 3 },
    ),
    mask: fc.constant({ file_id: "file-2" }),
  },
  ["model", "prompt", "images"],
);

/** The fields that the endpoints know, and one that none of them knows. */
export const fieldNames: readonly string[] = [
  ...new Set([...Object.keys(imageFields), "input", "encoding_format", "dimensions"]),
  ...["images", "mask", "input_fidelity", "no_such_field"],
];

/** The built-in image model is slow, so its requests are small. */
const sketchBody = some(
  {
    ...imageFields,
    model: fc.constant("vexel-sketch"),
    n: fc.constant(1),
    size: fc.constantFrom("256x256", "512x512", "1x1", "9999x9999", "axb", "auto"),
  },
  ["model", "prompt", "size"],
);

interface JsonRequest {
  readonly path: string;
  readonly body: Record<string, unknown>;
}

const at = (path: string, bodies: fc.Arbitrary<object>): fc.Arbitrary<JsonRequest> =>
  bodies.map((body) => ({ path, body: body as Record<string, unknown> }));

/** Requests that are valid, except for rare combinations of values. */
export const validRequest: fc.Arbitrary<JsonRequest> = fc.oneof(
  { weight: 6, arbitrary: at("/v1/embeddings", embeddingsBody) },
  { weight: 1, arbitrary: at("/v1/engines/embedding-model/embeddings", embeddingsBody) },
  { weight: 5, arbitrary: at("/v1/images/generations", generationBody) },
  { weight: 3, arbitrary: at("/v1/images/edits", editBody) },
);
export const sketchCall = at("/v1/images/generations", sketchBody);

type Change = (body: Record<string, unknown>) => Record<string, unknown>;
const pick = (body: object, choice: number): string => {
  const keys = Object.keys(body);
  return keys[choice % Math.max(1, keys.length)] ?? "model";
};
const without = (body: Record<string, unknown>, name: string) =>
  Object.fromEntries(Object.entries(body).filter(([key]) => key !== name));

/** Replaces the value of one field. */
const changeField = (changed: (value: unknown, name: string) => unknown): fc.Arbitrary<Change> =>
  fc.nat().map((choice) => (body) => {
    const name = pick(body, choice);
    return { ...body, [name]: changed(body[name], name) };
  });

/** The same value with one mutation. */
const change: fc.Arbitrary<Change> = fc.oneof(
  oddValue.chain((value) => changeField(() => value)),
  fc.nat().map(
    (choice): Change =>
      (body) =>
        without(body, pick(body, choice)),
  ),
  fc.tuple(oddText, oddValue).map(
    ([name, value]): Change =>
      (body) => ({ ...body, [name]: value }),
  ),
  changeField((value) => [value, value]),
  changeField((value, name) => ({ [name]: value })),
  changeField((value) => JSON.stringify(value)),
  models.map(
    (model): Change =>
      (body) => ({ ...body, model }),
  ),
);

export const changedRequest: fc.Arbitrary<JsonRequest> = fc
  .tuple(validRequest, fc.array(change, { minLength: 1, maxLength: 3 }))
  .map(([{ path, body }, changes]) => ({
    path,
    body: changes.reduce((changed, step) => step(changed), body),
  }));

/** The same bytes with a few mutations. */
export const damaged = (bytes: Uint8Array): fc.Arbitrary<Uint8Array<ArrayBuffer>> =>
  fc
    .array(
      fc.record({
        where: fc.nat(),
        remove: fc.integer({ min: 0, max: 12 }),
        insert: fc.oneof(
          fc.uint8Array({ maxLength: 6 }),
          fc
            .constantFrom('"', "{", "}", "\\", "\r\n", "--", "\0", ";", "=")
            .map((text) => Buffer.from(text)),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    )
    .map((damages) => {
      let whole: Buffer = Buffer.from(bytes);
      for (const { where, remove, insert } of damages) {
        const from = where % (whole.length + 1);
        whole = Buffer.concat([whole.subarray(0, from), insert, whole.subarray(from + remove)]);
      }
      return new Uint8Array(whole);
    });
