/** The multipart parser returns exactly what was written, however the bytes are split. */

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { boundaryOf, readParts } from "../../server/http/multipart.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { tries } from "../depth.ts";

interface Part {
  readonly name: string;
  readonly filename: string | undefined;
  readonly type: string | undefined;
  readonly body: Buffer;
}

const partOf = (name: string, body: Buffer, filename?: string, type?: string): Part => ({
  name,
  filename,
  type,
  body,
});

/** A boundary of the characters that RFC 2046 allows. */
const boundaries = fc
  .stringMatching(/^[0-9a-zA-Z'()+_,./:=?-]{1,60}$/)
  .filter((text) => !text.endsWith(" "));
const names = fc.oneof(
  fc.constantFrom("image", "image[]", "prompt", "mask", "a b", "ä", "n;m", 'q"q', "="),
  fc.stringMatching(/^[^\\\r\n\p{C}]{1,30}$/u).filter((text) => !/%(22|0[AaDd])/.test(text)),
);

/** Bytes made of sequences that are hard for form parsers. */
const bodies = (boundary: string) =>
  fc
    .array(
      fc.oneof(
        {
          weight: 4,
          arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
        },
        {
          weight: 6,
          arbitrary: fc
            .constantFrom(
              "\r\n",
              "\r",
              "\n",
              "--",
              "\r\n--",
              "\r\n-",
              `--${boundary}`,
              `\r\n--${boundary.slice(0, -1)}`,
              `\r\n--${boundary.slice(0, -1)}\0`,
              `\n--${boundary}`,
              `\r--${boundary}--\r\n`,
              `\r\r\n-${boundary}`,
              "\r\n\r\n",
              "content-disposition: form-data; name=x\r\n\r\n",
            )
            .map((text) => Buffer.from(text)),
        },
      ),
      { maxLength: 12 },
    )
    .map((blocks) => Buffer.concat(blocks))
    // Content with the whole delimiter cannot occur in this form: its writer would choose another boundary.
    .filter((bytes) => !`\r\n${bytes.toString("latin1")}`.includes(`\r\n--${boundary}`));

const forms = boundaries.chain((boundary) =>
  fc.record({
    boundary: fc.constant(boundary),
    parts: fc.array(
      fc.record({
        name: names,
        filename: fc.option(names, { nil: undefined }),
        type: fc.option(fc.constantFrom("image/png", "text/plain; charset=utf-8"), {
          nil: undefined,
        }),
        body: bodies(boundary),
      }),
      { maxLength: 6 },
    ),
    before: fc.constantFrom("", "\r\n", "for old readers\r\n"),
    after: fc.constantFrom("", "\r\n", "\r\nthe end", `\r\n--${boundary}\r\n`),
  }),
);

const quoted = (text: string) =>
  text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");

function write(boundary: string, parts: readonly Part[], before = "", after = "\r\n"): Buffer {
  const blocks = parts.flatMap(({ name, filename, type, body }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`,
    filename === undefined ? "" : `; filename="${quoted(filename)}"`,
    type === undefined ? "" : `\r\nContent-Type: ${type}`,
    "\r\n\r\n",
    body,
    "\r\n",
  ]);
  return Buffer.concat(
    [before, ...blocks, `--${boundary}--`, after].map((block) => Buffer.from(block as string)),
  );
}

/** Each chunk is overwritten once the next is requested, because the server releases its memory by then. */
async function* cut(bytes: Buffer, sizes: Iterator<number>): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const size = Math.max(1, sizes.next().value ?? 1);
    const chunk = new Uint8Array(bytes.subarray(at, at + size));
    at += size;
    yield chunk;
    chunk.fill(0xee);
  }
}

async function read(chunks: AsyncIterable<Uint8Array>, boundary: string): Promise<Part[]> {
  const parts: Part[] = [];
  for await (const { body, ...head } of readParts(chunks, boundary)) {
    const blocks: Buffer[] = [];
    for await (const block of body) {
      expect(block.length).toBeGreaterThan(0);
      blocks.push(Buffer.from(block));
    }
    parts.push({ ...head, body: Buffer.concat(blocks) });
  }
  return parts;
}

const always = function* (size: number): Generator<number> {
  for (;;) yield size;
};
const shown = (parts: readonly Part[]) =>
  parts.map(({ body, ...head }) => ({ ...head, body: body.toString("latin1") }));

describe("every form is read as it was written", () => {
  test("however its bytes are split, also byte by byte and in one chunk", async () => {
    const anySizes = fc.infiniteStream(
      fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 200 })),
    );
    await fc.assert(
      fc.asyncProperty(forms, anySizes, async ({ boundary, parts, before, after }, sizes) => {
        const bytes = write(boundary, parts, before, after);
        for (const chunkSizes of [sizes, always(1), always(bytes.length)]) {
          expect(shown(await read(cut(bytes, chunkSizes), boundary))).toEqual(shown(parts));
        }
      }),
      tries(250),
    );
  });

  test("split in two at every byte", async () => {
    const boundary = "bound";
    const parts = [
      partOf("prompt", Buffer.from("a\r\n--boun\r\n--")),
      partOf("image", Buffer.from("\r\n\r\r\n--boum"), "a.png", "image/png"),
      partOf("empty", Buffer.alloc(0), "e"),
    ];
    const bytes = write(boundary, parts);
    for (let at = 1; at < bytes.length; at++) {
      const sizes = [at, bytes.length][Symbol.iterator]();
      expect(shown(await read(cut(bytes, sizes), boundary))).toEqual(shown(parts));
    }
  });
});

describe("Bun's own FormData agrees", () => {
  const entries = fc.array(
    fc.record({
      name: names,
      value: fc.oneof(
        fc.string({ unit: "grapheme", maxLength: 40 }).filter((text) => !/[\r\n]/.test(text)),
        fc.record({
          bytes: fc.uint8Array({ maxLength: 300 }),
          // Bun gives a file without a name another one.
          filename: names,
          type: fc.constantFrom("image/png", "application/octet-stream"),
        }),
      ),
    }),
    { minLength: 1, maxLength: 6 },
  );

  test("a form that it writes is parsed back unchanged", async () => {
    await fc.assert(
      fc.asyncProperty(
        entries,
        fc.infiniteStream(fc.integer({ min: 1, max: 90 })),
        async (fields, sizes) => {
          const form = new FormData();
          for (const { name, value } of fields) {
            if (typeof value === "string") form.append(name, value);
            else
              form.append(
                name,
                new File([new Uint8Array(value.bytes)], value.filename, { type: value.type }),
              );
          }
          const written = new Response(form);
          const boundary = boundaryOf(written.headers.get("content-type") ?? "");
          const parts = await read(cut(Buffer.from(await written.bytes()), sizes), boundary);
          const expected = fields.map(({ name, value }) =>
            typeof value === "string"
              ? partOf(name, Buffer.from(value))
              : partOf(name, Buffer.from(value.bytes), value.filename, value.type),
          );
          expect(shown(parts)).toEqual(shown(expected));
        },
      ),
      tries(200),
    );
  });

  test("the fields that FormData parses are the fields that our parser returns", async () => {
    const plain = fc.stringMatching(/^[a-z[\]0-9 .]{1,20}$/);
    // Bun's parser accepts a boundary even without a line break before it.
    const body = bodies("----a-boundary-of-some-length").filter(
      (bytes) => !bytes.includes("----a-boundary-of-some-length"),
    );
    const parts = fc.array(
      fc.record({
        name: plain,
        filename: fc.option(plain, { nil: undefined }),
        type: fc.constant("image/png"),
        body,
      }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(parts, async (written) => {
        const boundary = "----a-boundary-of-some-length";
        const bytes = write(boundary, written);
        const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
        const theirs = [...(await new Response(new Uint8Array(bytes), { headers }).formData())];
        const ours = await read(cut(bytes, always(7)), boundary);
        expect(ours.map(({ name }) => name)).toEqual(theirs.map(([name]) => name));
        for (const [at, [, value]] of theirs.entries()) {
          if (typeof value === "string") expect(ours[at]?.body.toString("utf8")).toBe(value);
          else expect(ours[at]?.body.equals(Buffer.from(await value.bytes()))).toBe(true);
        }
      }),
      tries(200),
    );
  });
});

describe("a form that is cut short", () => {
  test("at any byte is refused without a wait", async () => {
    await fc.assert(
      fc.asyncProperty(
        forms.filter(({ parts }) => parts.length > 0 && parts.length < 4),
        fc.integer({ min: 1, max: 30 }),
        async ({ boundary, parts, before }, size) => {
          const bytes = write(boundary, parts, before, "");
          for (let end = 0; end < bytes.length; end++) {
            const cutShort = read(cut(bytes.subarray(0, end), always(size)), boundary);
            await expectBroken(cutShort, "ends before its closing boundary");
          }
          expect(await read(cut(bytes, always(size)), boundary)).toHaveLength(parts.length);
        },
      ),
      tries(25),
    );
  });

  test("by a broken connection fails with the error of the connection", async () => {
    async function* breaks(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nhalf');
      throw new Error("the socket broke");
    }
    expect(read(breaks(), "b")).rejects.toThrow("the socket broke");
  });
});

async function expectBroken(reading: Promise<unknown>, message: string): Promise<void> {
  const error = await reading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(GatewayError);
  expect((error as GatewayError).kind).toBe("invalid_form");
  expect((error as GatewayError).message).toContain(message);
}

describe("a malformed form is refused:", () => {
  const readText = (text: string, boundary = "b") =>
    read(cut(Buffer.from(text), always(3)), boundary);
  const disposition = "content-disposition: form-data";

  test.each<[string, string, string]>([
    ["nothing at all", "", "ends before its closing boundary"],
    ["text", "hello, is this a form?", "ends before its closing boundary"],
    ["another boundary", `--c\r\n${disposition}; name="a"\r\n\r\nx\r\n--c--\r\n`, "ends before"],
    ["a part without a head", "--b\r\n\r\nx\r\n--b--\r\n", "has no name"],
    [
      "a part without a head before one with a head",
      `--b\r\n\r\nx\r\n--b\r\n${disposition}; name="a"\r\n\r\ny\r\n--b--\r\n`,
      "has no name",
    ],
    [
      "a head that runs into the next part",
      `--b\r\n${disposition}; name="a"\r\n--b\r\n${disposition}; name="c"\r\n\r\nx\r\n--b--`,
      "has no body",
    ],
    ["a part without a name", `--b\r\n${disposition}\r\n\r\nx\r\n--b--`, "has no name"],
    [
      "a name that is not closed",
      `--b\r\n${disposition}; name="a\r\n\r\nx\r\n--b--`,
      "has no name",
    ],
    [
      "an attachment",
      '--b\r\ncontent-disposition: attachment; name="a"\r\n\r\nx\r\n--b--',
      "no name",
    ],
    ["only a file name", `--b\r\n${disposition}; filename="a"\r\n\r\nx\r\n--b--`, "has no name"],
    [
      "a name only inside the filename",
      `--b\r\n${disposition}; filename="x; name=evil"\r\n\r\nx\r\n--b--`,
      "has no name",
    ],
    [
      "a boundary followed by other bytes",
      `--b\r\n${disposition}; name="a"\r\n\r\nx\r\n--bb--`,
      "line break",
    ],
    ["bare line feeds", `--b\n${disposition}; name="a"\n\nx\n--b--\n`, "line break"],
  ])("%s", async (_, text, message) => {
    await expectBroken(readText(text), message);
  });

  test("part headers of more than 16 KiB, before more of them is read", async () => {
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`--b\r\n${disposition}; name="a"; x="`);
      for (;;) {
        sent += 1000;
        yield Buffer.alloc(1000, "x");
      }
    }
    await expectBroken(read(endless(), "b"), "headers of a part are too long");
    expect(sent).toBeLessThan(20_000);
  });

  test.each([
    ["multipart/form-data"],
    ["multipart/form-data;"],
    ["multipart/form-data; boundary"],
    ["multipart/form-data; boundary="],
    ['multipart/form-data; boundary=""'],
    ['multipart/form-data; x="; boundary=b"'],
    [`multipart/form-data; boundary=${"x".repeat(201)}`],
  ])("a content type without a boundary: %s", (type) => {
    expect(() => boundaryOf(type)).toThrow("names no boundary");
  });

  test.each([
    ["multipart/form-data; boundary=abc", "abc"],
    ["multipart/form-data;boundary=abc;charset=utf-8", "abc"],
    ['Multipart/Form-Data; charset=utf-8; Boundary="a b;c"', "a b;c"],
    [
      "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
      "----WebKitFormBoundary7MA4YWxkTrZu0gW",
    ],
  ])("a content type with a boundary is accepted: %s", (type, boundary) => {
    expect(boundaryOf(type)).toBe(boundary);
  });
});

describe("names are parsed as different clients write them", () => {
  const nameOf = async (parameters: string) => {
    const text = `--b\r\nContent-Disposition: form-data; ${parameters}\r\n\r\n\r\n--b--`;
    const [part] = await read(cut(Buffer.from(text), always(5)), "b");
    return [part?.name, part?.filename];
  };

  test.each<[string, string, string | undefined]>([
    ['name="image"; filename="a.png"', "image", "a.png"],
    ["name=image; filename=a.png", "image", "a.png"],
    ['filename="a.png"; name="image"', "image", "a.png"],
    ['filename="x; name=evil.png"; name="image"', "image", "x; name=evil.png"],
    ['name="image"; filename="say \\"hi\\".png"', "image", 'say "hi".png'],
    ['name="image"; filename="say %22hi%22.png"', "image", 'say "hi".png'],
    ['name="image"; filename="C:\\pictures\\a.png"', "image", "C:\\pictures\\a.png"],
    ['name="image"; filename="ends in \\"', "image", "ends in \\"],
    ['name="image"; filename="a.png"; filename*=UTF-8\'\'%c3%a4.png', "image", "ä.png"],
    ["name=\"image\"; filename*=utf-8'en'%c3%a4.png", "image", "ä.png"],
    ['name="image"; filename="a.png"; filename*=UTF-8\'\'%ff', "image", "a.png"],
    ['NAME="image" ; FileName = "a.png"', "image", "a.png"],
    ['name=""; filename=""', "", ""],
    ['name="ä"', "ä", undefined],
  ])("%s", async (parameters, name, filename) => {
    expect(await nameOf(parameters)).toEqual([name, filename]);
  });
});
