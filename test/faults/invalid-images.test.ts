/** Invalid images of upstreams, and images that can be corrected. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { fakeImage, type InjectedFault } from "../fake-upstream.ts";
import {
  expectError,
  jsonResponse,
  rowOf,
  send,
  startFaultSetup,
  upstreamFailure,
} from "./faults-fixture.ts";

const setup = startFaultSetup();
const { fake } = setup;
beforeEach(() => fake.clear());
afterAll(() => setup.close());

const invalid = upstreamFailure("upstream_invalid");
const image = Buffer.from(
  fakeImage("an otter", 0, { format: "png", width: 1024, height: 1024 }),
).toString("base64");

describe("an invalid image is never delivered:", () => {
  test.each<[string, InjectedFault]>([
    ["garbage", { images: "garbage" }],
    ["an empty image", { images: "empty" }],
    ["no image at all", { images: "none" }],
    ["null in place of an entry", jsonResponse({ data: [null] })],
    ["a text in place of an entry", jsonResponse({ data: ["x"] })],
    ["an entry without an image", jsonResponse({ data: [{}] })],
    ["null in place of an image", jsonResponse({ data: [{ b64_json: null }] })],
    ["a number in place of an image", jsonResponse({ data: [{ b64_json: 7 }] })],
    ["an invalid URL", jsonResponse({ data: [{ url: "javascript:alert(1)" }] })],
    [
      "an HTML page in base64",
      jsonResponse({ data: [{ b64_json: btoa("<html><body>no</body>") }] }),
    ],
    ["data that is not a list", jsonResponse({ data: {} })],
    ["no data", jsonResponse({ created: 1 })],
  ])("%s", async (_, fault) => {
    fake.script(fault);
    await expectError(setup, await send.image(setup), invalid);
  });
});

test("if none of several images is valid, the ledger row has no delivered image", async () => {
  fake.script(jsonResponse({ data: [{ b64_json: "AAAA" }, { b64_json: "AAAA" }] }));
  await expectError(setup, await send.image(setup, { n: 2 }), { ...invalid, images: 0 });
});

describe("valid images are delivered:", () => {
  test("fewer than requested, because moderation may remove some, and the delivered images are billed", async () => {
    fake.script({ images: "missing" });
    const response = await send.image(setup, { n: 2 });
    expect(await response.json()).toMatchObject({ data: [{ b64_json: image }] });
    expect(rowOf(setup, response)).toMatchObject({ status: 200, images: 1, outputTokens: 1056 });
  });

  test("a valid image beside an invalid one", async () => {
    fake.script(jsonResponse({ data: [{ b64_json: "AAAA" }, { b64_json: image }] }));
    const response = await send.image(setup, { n: 2 });
    expect(await response.json()).toMatchObject({ data: [{ b64_json: image }] });
    expect(response.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
    expect(rowOf(setup, response)).toMatchObject({ status: 200, images: 1 });
  });

  test("from a response that is compressed, in small chunks, with white space", async () => {
    for (const fault of [
      { encoding: "gzip" },
      { trickle: { bytes: 100, everyMs: 1 } },
      { huge: 100_000 },
    ] satisfies InjectedFault[]) {
      fake.script(fault);
      const response = await send.image(setup);
      expect(await response.json()).toMatchObject({ data: [{ b64_json: image }] });
    }
  });

  test("without their data URL prefix", async () => {
    fake.script(jsonResponse({ data: [{ b64_json: `data:image/png;base64,${image}` }] }));
    const response = await send.image(setup);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: image }] });
  });

  test("with the other fields of the upstream", async () => {
    const entry = { b64_json: image, revised_prompt: "an otter, really", seed: 42 };
    const filter = { prompt_filter_results: [{ hate: { filtered: false } }] };
    fake.script(jsonResponse({ created: 7, data: [entry], model: "gpt-image-1.5", ...filter }));
    const response = await send.image(setup);
    const facts = { size: "1024x1024", output_format: "png" };
    const usage = expect.objectContaining({ total_tokens: expect.any(Number) });
    expect(await response.json()).toEqual({
      created: 7,
      data: [entry],
      ...facts,
      ...filter,
      usage,
    });
  });

  test.each<[string, unknown]>([
    ["absent", undefined],
    ["a text", "many"],
    ["incomplete", { total_tokens: 3 }],
    ["below zero", { total_tokens: -1, input_tokens: -1, output_tokens: -1 }],
    ["fractions", { total_tokens: 1.5, input_tokens: 1, output_tokens: 0.5 }],
  ])(
    "with an estimated usage, unknown in the ledger row, when the usage is %s",
    async (_, usage) => {
      fake.script(jsonResponse({ data: [{ b64_json: image }], usage }));
      const response = await send.image(setup);
      const { usage: estimated } = (await response.json()) as { usage: { total_tokens: number } };
      expect(estimated.total_tokens).toBeGreaterThan(0);
      expect(response.headers.get("vexel-usage")).toBe("estimated");
      expect(rowOf(setup, response)).toMatchObject({
        status: 200,
        images: 1,
        inputTokens: null,
        outputTokens: null,
      });
    },
  );
});
