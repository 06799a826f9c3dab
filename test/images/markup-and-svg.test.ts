/** `markup` and `svg` of image edits, in a form and in JSON: checked before the upstream is called, and sent whole. */
import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { base64Of, grayImage, maskOf } from "../conformance/arrange.ts";
import { startGateway, testKey } from "../harness.ts";

interface Received {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly files: Readonly<Record<string, number>>;
}

let received: Received[] = [];
let result = base64Of(grayImage("an otter"));
beforeEach(() => {
  received = [];
  result = base64Of(grayImage("an otter"));
});

async function readForm(request: Request): Promise<Received> {
  const fields: Record<string, unknown> = {};
  const files: Record<string, number> = {};
  for (const [name, value] of (await request.formData()) as Iterable<[string, string | Blob]>) {
    if (typeof value === "string") fields[name] = value;
    else files[name] = value.size;
  }
  return { fields, files };
}

/** Images behind links, and OpenAI's edits. */
const linked = new Map<string, Uint8Array<ArrayBuffer>>();
const upstream = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const image = linked.get(new URL(request.url).pathname);
    if (image) return new Response(image);
    const isForm = request.headers.get("content-type")?.startsWith("multipart/") === true;
    received.push(
      isForm ? await readForm(request) : { fields: (await request.json()) as never, files: {} },
    );
    return Response.json({ created: 1, data: [{ b64_json: result }] });
  },
});
const origin = `http://127.0.0.1:${upstream.port}`;

const gateway = startGateway({
  yaml: `
upstreams:
  - { id: openai, kind: openai, baseUrl: "${origin}", apiKey: sk-fake }
models:
  - { id: later, kind: image, targets: [{ upstream: openai, model: gpt-image-2.6 }] }
  - { id: earlier, kind: image, targets: [{ upstream: openai, model: gpt-image-2 }] }
keys: [{ name: test, key: ${testKey} }]
`,
  settings: { VEXEL_DOWNLOAD_PRIVATE: "127.0.0.1" },
});
closeAfterAll(gateway, upstream);

const image = grayImage("mine", 16);
const markup = await maskOf(16);

const inline = (bytes: Uint8Array) => ({ image_url: `data:image/png;base64,${base64Of(bytes)}` });
function link(bytes: Uint8Array): { image_url: string } {
  const path = `/${linked.size}.png`;
  linked.set(path, new Uint8Array(bytes));
  return { image_url: `${origin}${path}` };
}

type Parts = Readonly<Record<string, string | Uint8Array>>;

function editForm(parts: Parts, model = "later"): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model, prompt: "a hat", ...parts }))
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new Blob([new Uint8Array(value)], { type: "image/png" }), "a.png");
  const headers = { authorization: `Bearer ${testKey}` };
  return fetch(`${gateway.baseURL}/images/edits`, { method: "POST", headers, body: form });
}

const editJson = (fields: object, model = "later"): Promise<Response> =>
  gateway.post("/v1/images/edits", { model, prompt: "a hat", images: [inline(image)], ...fields });

async function expectRefused(response: Response, param: string, message: string): Promise<void> {
  const { error } = (await response.json()) as { error: Record<string, string> };
  expect([response.status, error.param]).toEqual([400, param]);
  expect(error.message).toContain(message);
  expect(received).toEqual([]);
}

describe("markup reaches the upstream as a file", () => {
  test.each(["markup", "markup[]", "markup[0]"])("from the field %s of a form", async (field) => {
    expect((await editForm({ image, [field]: markup })).status).toBe(200);
    expect(received[0]?.files).toEqual({ image: image.length, markup: markup.length });
  });

  test.each(["a data: URL", "a link"])("from JSON with %s", async (from) => {
    const reference = from === "a link" ? link(markup) : inline(markup);
    expect((await editJson({ markup: reference })).status).toBe(200);
    expect(received[0]?.files).toEqual({ image: image.length, markup: markup.length });
    expect(Object.keys(received[0]?.fields ?? {})).not.toContain("markup");
  });
});

describe("markup that does not fit is refused before the upstream is called", () => {
  test("together with a mask", async () => {
    const expected = ["markup", "cannot be combined with 'mask'"] as const;
    await expectRefused(await editForm({ image, markup, mask: markup }), ...expected);
    const references = { markup: inline(markup), mask: inline(markup) };
    await expectRefused(await editJson(references), ...expected);
  });

  test("with another size than the first image, however it came", async () => {
    const large = await maskOf(24);
    const message = "the markup is 24x24 and the first image 16x16";
    await expectRefused(await editForm({ image, markup: large }), "markup", message);
    for (const reference of [inline(large), link(large)])
      await expectRefused(await editJson({ markup: reference }), "markup.image_url", message);
    const images = [link(image)];
    await expectRefused(
      await editJson({ images, markup: inline(large) }),
      "markup.image_url",
      message,
    );
  });

  test("without transparent pixels", async () => {
    await expectRefused(await editForm({ image, markup: image }), "markup", "transparent");
    await expectRefused(await editJson({ markup: inline(image) }), "markup.image_url", "transp");
  });

  test("twice, as text, or as anything but a reference", async () => {
    const twice = { image, "markup[0]": markup, "markup[1]": markup };
    await expectRefused(await editForm(twice), "markup", "Duplicate");
    await expectRefused(await editForm({ image, markup: "an arrow" }), "markup", "a file");
    await expectRefused(await editJson({ markup: "an arrow" }), "markup", "expected an object");
    await expectRefused(await editJson({ markup: {} }), "markup", "exactly one");
  });

  test("to a model that has none", async () => {
    const message = "does not accept markup";
    await expectRefused(await editForm({ image, markup }, "earlier"), "markup", message);
    await expectRefused(await editJson({ markup: inline(markup) }, "earlier"), "markup", message);
  });
});

describe("an svg edit", () => {
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"/>';
  beforeEach(() => {
    result = Buffer.from(drawing).toString("base64");
  });

  test("is sent with its options as the fields of a form, and returns the svg", async () => {
    const options = { "svg[model]": "author", "svg[reasoning][effort]": "low" };
    const response = await editForm({ image, output_format: "svg", ...options });
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    expect(Buffer.from(data[0]?.b64_json ?? "", "base64").toString()).toBe(drawing);
    expect(received[0]?.fields).toMatchObject({ output_format: "svg", ...options });
  });

  test("in JSON has the same options", async () => {
    const svg = { model: "author", reasoning: { effort: "low" } };
    expect((await editJson({ output_format: "svg", svg })).status).toBe(200);
    expect(received[0]?.fields).toMatchObject({
      output_format: "svg",
      "svg[model]": "author",
      "svg[reasoning][effort]": "low",
    });
  });

  test("of two images is two requests, and a stream is made of the whole image", async () => {
    const response = await editJson({ output_format: "svg", n: 2, stream: true });
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-adapted")?.split(/, ?/).toSorted()).toEqual(["n", "stream"]);
    const text = await response.text();
    expect(text.match(/event: image_edit\.completed/g)).toHaveLength(2);
    expect(received).toHaveLength(2);
    for (const { fields } of received) expect(fields).not.toContainAnyKeys(["stream", "n"]);
  });

  test("with options that contradict each other is refused by name", async () => {
    for (const [first, second] of [
      ["svg", "svg[model]"],
      ["svg[reasoning]", "svg[reasoning][effort]"],
    ] as const)
      await expectRefused(await editForm({ image, [first]: "a", [second]: "b" }), second, "Dupl");
  });
});
