/**
 * Multipart forms as people and libraries write them: valid ones are accepted, others refused with the parameter's
 * name.
 */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { testKey } from "../harness.ts";
import { arrange, grayImage, sha256Of } from "./arrange.ts";

const { fake, gateway, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

type Field = readonly [name: string, value: string | Uint8Array<ArrayBuffer>, filename?: string];
const imageBytes = grayImage("picture");
const usual: readonly Field[] = [
  ["model", "gpt-image-2"],
  ["prompt", "add a hat"],
];
const withImage = (...fields: readonly Field[]): readonly Field[] => [
  ...usual,
  ["image", imageBytes],
  ...fields,
];

async function send(...fields: readonly Field[]) {
  const form = new FormData();
  for (const [name, value, filename] of fields) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new Blob([value]), filename ?? "picture.png");
  }
  return post(form);
}

async function post(
  body: FormData | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${gateway.baseURL}/images/edits`, {
    method: "POST",
    headers: { authorization: `Bearer ${testKey}`, ...headers },
    body,
  });
  const { error } = (await response.json()) as {
    error: { code: string; param: string; message: string };
  };
  return { status: response.status, error };
}

/** A form byte by byte: `FormData` writes nothing but UTF-8. */
async function sendParts(
  ...parts: readonly (readonly [head: Uint8Array | string, value: Uint8Array | string])[]
) {
  const chunks = parts.flatMap(([head, value]) => [
    Buffer.from("--b\r\nContent-Disposition: form-data; "),
    Buffer.from(head as string),
    Buffer.from("\r\n\r\n"),
    Buffer.from(value as string),
    Buffer.from("\r\n"),
  ]);
  return post(Buffer.concat([...chunks, Buffer.from("--b--\r\n")]), {
    "content-type": "multipart/form-data; boundary=b",
  });
}

const modelPart = ['name="model"', "gpt-image-2"] as const;
const promptPart = ['name="prompt"', "add a hat"] as const;
const imagePart = [
  'name="image"; filename="a.png"\r\nContent-Type: image/png',
  imageBytes,
] as const;

describe("a text field of a form", () => {
  const latin1 = Buffer.from("Gr\xfc\xdfe", "latin1");
  const promptSent = () =>
    fake.requests[0]!.form!.find(({ field }) => field === "prompt")?.value ?? "none";

  test.each([
    ["iso-8859-1", latin1],
    ['"ISO-8859-1"', latin1],
    ["windows-1252", latin1],
    ["utf-16le", Buffer.from("Grüße", "utf16le")],
    ["utf-8", Buffer.from("Grüße")],
    ["us-ascii", Buffer.from("Grüße")],
  ])("is read in the charset that its part names: %s", async (charset, bytes) => {
    const head = `name="prompt"\r\nContent-Type: text/plain; charset=${charset}`;
    expect((await sendParts(modelPart, [head, bytes], imagePart)).status).toBe(200);
    expect(promptSent()).toBe("Grüße");
  });

  test("has its byte order mark removed", async () => {
    const marked = ['name="model"', "\ufeffgpt-image-2"] as const;
    expect((await sendParts(marked, ['name="prompt"', "\ufeffGrüße"], imagePart)).status).toBe(200);
    expect(promptSent()).toBe("Grüße");
  });

  test("with a field name that is not UTF-8 is refused", async () => {
    const field = [Buffer.from('name="\xfcbung"', "latin1"), "1"] as const;
    const { status, error } = await sendParts(modelPart, promptPart, imagePart, field);
    expect([status, error.code]).toEqual([400, "invalid_form"]);
    expect(error.message).toContain("not valid UTF-8");
    expect(fake.requests).toHaveLength(0);
  });

  test.each([
    ["is not UTF-8 and names no charset", "", "is not valid utf-8"],
    [
      "is not in the charset it names",
      "\r\nContent-Type: text/plain; charset=utf-8",
      "is not valid",
    ],
    ["names an unknown charset", "\r\nContent-Type: text/plain; charset=nope", "not supported"],
  ])("that %s is refused", async (_, more, message) => {
    const { status, error } = await sendParts(
      modelPart,
      [`name="prompt"${more}`, latin1],
      imagePart,
    );
    expect([status, error.code, error.param]).toEqual([400, "invalid_form", "prompt"]);
    expect(error.message).toContain(message);
    expect(fake.requests).toHaveLength(0);
  });
});

describe("an empty file field", () => {
  const left = (name: string) =>
    [`name="${name}"; filename=""\r\nContent-Type: application/octet-stream`, ""] as const;

  test("counts as absent: mask", async () => {
    expect((await sendParts(modelPart, promptPart, imagePart, left("mask"))).status).toBe(200);
    expect(fake.requests[0]!.form!.map(({ field }) => field)).not.toContain("mask");
  });

  test.each(["", "\r\nContent-Type: text/plain; charset=utf-8"])(
    "counts as absent if its part has no filename (%j)",
    async (type) => {
      for (const name of ["mask", "image", "image[]"]) {
        const empty = [`name="${name}"${type}`, ""] as const;
        expect((await sendParts(modelPart, promptPart, imagePart, empty)).status).toBe(200);
      }
      for (const { form } of fake.requests) {
        expect(form!.map(({ field }) => field).sort()).toEqual(["image", "model", "prompt"]);
      }
    },
  );

  test("counts as absent: a second image", async () => {
    expect((await sendParts(modelPart, promptPart, left("image"), imagePart)).status).toBe(200);
    expect(fake.requests[0]!.form!.filter(({ field }) => field.startsWith("image"))).toHaveLength(
      1,
    );
  });

  test("is reported as missing if it is required: image", async () => {
    const { status, error } = await sendParts(modelPart, promptPart, left("image"));
    expect(status).toBe(400);
    expect(error.message).toBe("Missing required parameter: 'image'.");
  });
});

describe("a form is accepted", () => {
  test("with its parts in any order", async () => {
    const { status } = await send(
      ["image", imageBytes],
      ["prompt", "add a hat"],
      ["model", "gpt-image-2"],
    );
    expect(status).toBe(200);
  });

  test("with indexed images, in the order of their indexes", async () => {
    const [a, b, c] = [grayImage("a"), grayImage("b"), grayImage("c")];
    await send(...usual, ["image[2]", c], ["image[0]", a], ["image[1]", b]);
    const files = fake.requests[0]!.form!.filter(({ filename }) => filename !== undefined);
    expect(files.map(({ sha256 }) => sha256)).toEqual([a, b, c].map(sha256Of));
  });

  test("with empty fields, which HTML forms send for values that were not given", async () => {
    const { status } = await send(...withImage(["size", ""], ["n", ""], ["stream", ""]));
    expect(status).toBe(200);
    const texts = fake.requests[0]!.form!.filter(({ filename }) => filename === undefined);
    expect(texts.map(({ field }) => field).toSorted()).toEqual(["model", "prompt"]);
  });

  test("with stream=false, which is the default", async () => {
    await send(...withImage(["stream", "false"]));
    expect(fake.requests[0]!.form!.map(({ field }) => field)).not.toContain("stream");
  });

  test("with unknown fields, which are passed through", async () => {
    const { error } = await send(...withImage(["seed", "42"], ["tag", "a"], ["tag", "b"]));
    // The fake upstream refuses them like OpenAI.
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
    const { status } = await send(...usual, ["image", imageBytes, filename]);
    expect(status).toBe(200);
    const [file] = fake.requests[0]!.form!.filter((part) => part.filename !== undefined);
    expect(file).toMatchObject({ field: "image", type: "image/png", sha256: sha256Of(imageBytes) });
    expect(file!.filename).toEndWith(".png");
  });
});

describe("a form is refused with the name of the parameter for", () => {
  test.each<[string, readonly Field[], string, string]>([
    ["a text for a mask", withImage(["mask", "undefined"]), "invalid_type", "mask"],
    ["a text beside an image", withImage(["image[]", "undefined"]), "invalid_type", "image"],
    ["no image", usual, "missing_required_parameter", "image"],
    ["a text for an image", [...usual, ["image", "hello"]], "invalid_type", "image"],
    [
      "a file that is not an image",
      [...usual, ["image", new TextEncoder().encode("hello"), "a.png"]],
      "unsupported_file_mimetype",
      "image",
    ],
    ["an empty file", [...usual, ["image", new Uint8Array()]], "invalid_image_file", "image"],
    ["an empty mask", withImage(["mask", new Uint8Array()]), "invalid_image_file", "mask"],
    [
      "two masks",
      withImage(["mask", imageBytes], ["mask", imageBytes]),
      "duplicate_parameter",
      "mask",
    ],
    [
      "seventeen images",
      [...usual, ...Array.from({ length: 17 }, (): Field => ["image[]", imageBytes])],
      "array_above_max_length",
      "image",
    ],
    [
      "two prompts",
      [...usual, ["prompt", "b"], ["image", imageBytes]],
      "duplicate_parameter",
      "prompt",
    ],
    ["no prompt", [usual[0]!, ["image", imageBytes]], "missing_required_parameter", "prompt"],
    ["no model", [usual[1]!, ["image", imageBytes]], "missing_required_parameter", "model"],
    ["a word for n", withImage(["n", "two"]), "invalid_type", "n"],
    ["a fraction for n", withImage(["n", "1.5"]), "invalid_type", "n"],
    ["zero for n", withImage(["n", "0"]), "integer_below_min_value", "n"],
    ["a word for stream", withImage(["stream", "yes"]), "invalid_type", "stream"],
  ])("%s", async (_, fields, code, param) => {
    const { status, error } = await send(...fields);
    expect(status).toBe(400);
    expect(error).toMatchObject({ type: "invalid_request_error", code, param });
    expect(fake.requests).toHaveLength(0);
  });
});

const editByJson = (fields: object) =>
  gateway.post("/v1/images/edits", { model: "gpt-image-2", prompt: "add a hat", ...fields });

describe("a JSON edit is refused with the name of the parameter for", () => {
  const images = [{ image_url: "https://example.com/a.png" }];
  test.each<[string, object, string, string]>([
    ["no images", {}, "missing_required_parameter", "images"],
    ["an empty list", { images: [] }, "empty_array", "images"],
    ["seventeen", { images: Array(17).fill(images[0]) }, "array_above_max_length", "images"],
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
    const response = await editByJson(wrong);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code, param } });
    expect(fake.requests).toHaveLength(0);
  });

  test("a JSON mask whose members are null counts as absent", async () => {
    const response = await editByJson({
      images: [{ file_id: "file-abc" }],
      mask: { image_url: null, file_id: null },
    });
    expect(response.status).toBe(200);
    expect(fake.requests[0]!.json).not.toHaveProperty("mask");
  });

  test("a null member of a JSON reference counts as absent", async () => {
    const response = await editByJson({
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
