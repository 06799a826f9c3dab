/** Forms as people and libraries write them: what can be understood is, and what cannot is refused by its name. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { testKey } from "../harness.ts";
import { arrange, drawn, sha256Of } from "./arrange.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

type Field = readonly [name: string, value: string | Uint8Array<ArrayBuffer>, filename?: string];
const picture = drawn("picture");
const usual: readonly Field[] = [
  ["model", "gpt-image-2"],
  ["prompt", "add a hat"],
];

async function send(...fields: readonly Field[]) {
  const form = new FormData();
  for (const [name, value, filename] of fields) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new Blob([value]), filename ?? "picture.png");
  }
  const response = await fetch(`${gateway.baseURL}/images/edits`, {
    method: "POST",
    headers: { authorization: `Bearer ${testKey}` },
    body: form,
  });
  const answer = (await response.json()) as {
    error: { code: string; param: string; message: string };
  };
  return { status: response.status, error: answer.error };
}

describe("a form is understood", () => {
  test("with its parts in any order", async () => {
    const { status } = await send(
      ["image", picture],
      ["prompt", "add a hat"],
      ["model", "gpt-image-2"],
    );
    expect(status).toBe(200);
  });

  test("with pictures that count themselves, in the order of their numbers", async () => {
    const [a, b, c] = [drawn("a"), drawn("b"), drawn("c")];
    await send(...usual, ["image[2]", c], ["image[0]", a], ["image[1]", b]);
    const files = fake.requests[0]!.form!.filter(({ filename }) => filename !== undefined);
    expect(files.map(({ sha256 }) => sha256)).toEqual([a, b, c].map(sha256Of));
  });

  test("with empty fields, which web pages send for what was not given", async () => {
    const { status } = await send(
      ...usual,
      ["image", picture],
      ["size", ""],
      ["n", ""],
      ["stream", ""],
    );
    expect(status).toBe(200);
    const texts = fake.requests[0]!.form!.filter(({ filename }) => filename === undefined);
    expect(texts.map(({ field }) => field).toSorted()).toEqual(["model", "prompt"]);
  });

  test("with stream=false, which is the same as none", async () => {
    await send(...usual, ["image", picture], ["stream", "false"]);
    expect(fake.requests[0]!.form!.map(({ field }) => field)).not.toContain("stream");
  });

  test("with fields nobody knows, which ride along as they are", async () => {
    const { error } = await send(
      ...usual,
      ["image", picture],
      ["seed", "42"],
      ["tag", "a"],
      ["tag", "b"],
    );
    // The fake knows them as little as OpenAI does, and says so.
    expect(error.message).toContain("Duplicate parameter: 'tag'");
    const sent = fake.requests[0]!.form!.map(({ field, value }) => [field, value]);
    expect(sent).toContainEqual(["seed", "42"]);
    expect(sent.filter(([field]) => field === "tag")).toEqual([
      ["tag", "a"],
      ["tag", "b"],
    ]);
  });

  test.each([
    "ümlaut 🦦.png",
    'quo"te.png',
    "back\\slash.png",
    "no ending",
    "two.dots.jpeg",
    "a;b.png",
  ])("with a file called %s", async (filename) => {
    const { status } = await send(...usual, ["image", picture, filename]);
    expect(status).toBe(200);
    const [file] = fake.requests[0]!.form!.filter((part) => part.filename !== undefined);
    expect(file).toMatchObject({ field: "image", type: "image/png", sha256: sha256Of(picture) });
    expect(file!.filename).toEndWith(".png");
  });
});

describe("a form is refused by the name of what is wrong with it", () => {
  test.each<[string, readonly Field[], string, string]>([
    ["no picture", usual, "missing_required_parameter", "image"],
    ["a text for a picture", [...usual, ["image", "hello"]], "invalid_type", "image"],
    [
      "a file that is no picture",
      [...usual, ["image", new TextEncoder().encode("hello"), "a.png"]],
      "unsupported_file_mimetype",
      "image",
    ],
    ["an empty file", [...usual, ["image", new Uint8Array()]], "invalid_image_file", "image"],
    [
      "an empty mask",
      [...usual, ["image", picture], ["mask", new Uint8Array()]],
      "invalid_image_file",
      "mask",
    ],
    [
      "two masks",
      [...usual, ["image", picture], ["mask", picture], ["mask", picture]],
      "duplicate_parameter",
      "mask",
    ],
    [
      "seventeen pictures",
      [...usual, ...Array.from({ length: 17 }, (): Field => ["image[]", picture])],
      "invalid_value",
      "image",
    ],
    [
      "two prompts",
      [...usual, ["prompt", "b"], ["image", picture]],
      "duplicate_parameter",
      "prompt",
    ],
    ["no prompt", [usual[0]!, ["image", picture]], "missing_required_parameter", "prompt"],
    ["no model", [usual[1]!, ["image", picture]], "missing_required_parameter", "model"],
    ["a word for n", [...usual, ["image", picture], ["n", "two"]], "invalid_type", "n"],
    ["a fraction for n", [...usual, ["image", picture], ["n", "1.5"]], "invalid_type", "n"],
    ["nothing for n", [...usual, ["image", picture], ["n", "0"]], "invalid_value", "n"],
    [
      "a word for stream",
      [...usual, ["image", picture], ["stream", "yes"]],
      "invalid_type",
      "stream",
    ],
  ])("%s", async (_, fields, code, param) => {
    const { status, error } = await send(...fields);
    expect(status).toBe(400);
    expect(error).toMatchObject({ type: "invalid_request_error", code, param });
    expect(fake.requests).toHaveLength(0);
  });
});

describe("a JSON edit is refused by the name of what is wrong with it", () => {
  const images = [{ image_url: "https://example.com/a.png" }];
  test.each<[string, object, string, string]>([
    ["no pictures", {}, "missing_required_parameter", "images"],
    ["an empty list", { images: [] }, "invalid_value", "images"],
    ["seventeen", { images: Array(17).fill(images[0]) }, "invalid_value", "images"],
    [
      "another scheme",
      { images: [{ image_url: "ftp://a" }] },
      "invalid_value",
      "images[0].image_url",
    ],
    [
      "both kinds at once",
      { images: [{ ...images[0], file_id: "f" }] },
      "invalid_value",
      "images[0]",
    ],
    ["neither kind", { images: [{}] }, "invalid_value", "images[0]"],
    ["another kind", { images: [{ path: "a" }] }, "unknown_parameter", "images[0].path"],
    ["null", { images: [null] }, "invalid_type", "images[0]"],
    ["a mask that is text", { images, mask: "a" }, "invalid_type", "mask"],
  ])("%s", async (_, wrong, code, param) => {
    const response = await gateway.post("/v1/images/edits", {
      model: "gpt-image-2",
      prompt: "add a hat",
      ...wrong,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code, param } });
    expect(fake.requests).toHaveLength(0);
  });

  test("but null inside a reference is the same as nothing", async () => {
    const response = await gateway.post("/v1/images/edits", {
      model: "gpt-image-2",
      prompt: "add a hat",
      images: [{ file_id: "file-abc", image_url: null }],
      mask: null,
      n: null,
    });
    expect(response.status).toBe(200);
    expect(fake.requests[0]!.json).toEqual({
      model: "gpt-image-2",
      prompt: "add a hat",
      images: [{ file_id: "file-abc" }],
    });
  });
});
