/** Long `data:` URLs are cut out of a JSON body before it is parsed, and the parsed value has them again. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { cutDataUrls } from "../../server/lib/cut-inline-images.ts";
import { tries } from "../depth.ts";

/** Runs the steps at once. */
function cut(body: string) {
  const steps = cutDataUrls(Buffer.from(body));
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

const parse = (body: string): unknown => {
  const { json, restore } = cut(body);
  return restore(JSON.parse(json.toString()));
};
const url = `data:image/png;base64,${"QUJD".repeat(20_000)}`;

test("a body is parsed as by JSON.parse, with and without long data URLs", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom(url, `${url}\\`, `"${url}"`, `x${url}`, "data:"),
  );
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.oneof(text, fc.array(text)), { maxKeys: 4 }),
      (body) => {
        const json = JSON.stringify(body);
        expect(parse(json)).toEqual(JSON.parse(json));
      },
    ),
    tries(100),
  );
});

test("a long data URL is not in the text that is parsed", () => {
  const body = JSON.stringify({ prompt: "猫", images: [{ image_url: url }, { image_url: url }] });
  expect(cut(body).json.length).toBeLessThan(300);
});

test("a long data URL with escaped slashes or plus signs is cut, as PHP and .NET write it", () => {
  const long = `data:image/png;base64,${"+/AA".repeat(20_000)}`;
  const json = JSON.stringify({ image_url: long });
  for (const body of [json.replaceAll("/", "\\/"), json.replaceAll("+", "\\u002B")]) {
    expect(cut(body).json.length).toBeLessThan(200);
    expect(parse(body)).toEqual({ image_url: long });
  }
});

test("a long text that begins like a data URL keeps its characters", () => {
  const body = JSON.stringify({ input: `data: ${"日本語 ".repeat(10_000)}` });
  expect(parse(body)).toEqual(JSON.parse(body));
});

test("a body that is not JSON is refused, with and without long data URLs", () => {
  for (const body of [
    `{"a":"${url}`,
    `{"a":"b"${url.slice(5)}"}`,
    `{"a":"b""${url}"}`,
    `["${url}"`,
    `["${url}\\q"]`,
  ])
    expect(() => parse(body)).toThrow(SyntaxError);
});
