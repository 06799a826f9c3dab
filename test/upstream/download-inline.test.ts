/** A data URL is decoded exactly, and accepted only if it contains an image. */
import { describe, expect, test } from "bun:test";
import { type DataUrlOptions, readDataUrl } from "../../server/upstream/download/inline-url.ts";
import { expectError, png, startDownloadSetup } from "./download-fixture.ts";

const param = "mask.image_url";
const read = async (url: string, more: Partial<DataUrlOptions> = {}): Promise<Uint8Array> =>
  readDataUrl(url, { maxBytes: 1000, origin: { param }, ...more }).bytes;
const base64 = png.toString("base64");
const percents = [...png].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

test.each([
  ["base64", `data:image/png;base64,${base64}`],
  ["in capitals, with parameters", `DATA:image/png;name=a.png; BASE64,${base64}`],
  ["without its padding", `data:image/png;base64,${base64.replace(/=+$/, "")}`],
  ["in the alphabet of URLs", `data:image/png;base64,${png.toString("base64url")}`],
  ["with line breaks", `data:image/png;base64,${base64.replace(/.{20}/g, "$&\r\n")}`],
  ["with percents", `data:image/png;base64,${encodeURIComponent(base64)}`],
  ["bytes in percents", `data:image/png,${percents}`],
  ["with a wrong type, or none", `data:,${percents}`],
])("%s", async (_, url) => {
  expect(png.equals(await read(url))).toBeTrue();
});

test("an SVG in plain text is accepted if SVG is supported", async () => {
  const url = "data:image/svg+xml,<svg%20xmlns='x'>100%</svg>";
  const bytes = await read(url, { svg: true });
  expect(Buffer.from(bytes).toString()).toBe("<svg xmlns='x'>100%</svg>");
  await expectError(read(url), "invalid_value", /not an image/);
});

test("a data URL in place of a link is read without a connection", async () => {
  await using net = startDownloadSetup({ serve: () => undefined });
  const image = await net.get(`data:image/png;base64,${base64}`);
  expect(image).toEqual({ kind: "bytes", bytes: png });
  await expectError(net.get("data:,x"), "upstream_invalid", /not an image/);
  expect(net.connected).toEqual([]);
});

describe("an invalid data URL is refused, with the name of the field:", () => {
  test.each([
    ["data:image/png;base64", /no content/],
    ["data:image/png;base64,", /not an image/],
    [`http://x/,${base64}`, /no content/],
    [`data:image/png;base64,${base64.slice(0, 20)}!${base64.slice(20)}`, /not base64/],
    ["data:image/png;base64,A", /not base64/],
    [`data:image/png;base64,${Buffer.from("<html>").toString("base64")}`, /not an image/],
    [`data:${"x".repeat(2000)};base64,${base64}`, /no content/],
  ])("%#", async (url, message) => {
    const error = await expectError(read(url), "invalid_value", message);
    expect(error.body.error).toMatchObject({ param, code: "invalid_value" });
  });

  test("that is too large", async () => {
    await expectError(
      read(`data:,${percents}`, { maxBytes: 50 }),
      "invalid_value",
      /larger than 50/,
    );
  });

  test("of an upstream, as an invalid upstream response", async () => {
    await expectError(read("data:,x", { origin: "upstream" }), "upstream_invalid", /not an image/);
  });
});
