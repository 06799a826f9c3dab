/** Invalid images of upstreams, and images that can be corrected. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { fakeImage, type InjectedFault } from "../fake-upstream.ts";
import { ask, expectRefused, rowOf, startBroken } from "./faults-fixture.ts";

const broken = startBroken();
const { fake } = broken;
beforeEach(() => fake.clear());
afterAll(() => broken.close());

const invalid = {
  status: 502,
  type: "server_error",
  code: "upstream_invalid",
  error: "upstream_invalid",
} as const;
const picture = Buffer.from(
  fakeImage("an otter", 0, { format: "png", width: 1024, height: 1024 }),
).toString("base64");
const answer = (body: unknown): InjectedFault => ({
  reply: {
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  },
});

describe("a picture that is none is never delivered", () => {
  test.each<[string, InjectedFault]>([
    ["garbage", { images: "garbage" }],
    ["nothing", { images: "empty" }],
    ["no picture at all", { images: "none" }],
    ["null in place of an entry", answer({ data: [null] })],
    ["a text in place of an entry", answer({ data: ["x"] })],
    ["an entry without a picture", answer({ data: [{}] })],
    ["null in place of a picture", answer({ data: [{ b64_json: null }] })],
    ["a number in place of a picture", answer({ data: [{ b64_json: 7 }] })],
    ["a link that is none", answer({ data: [{ url: "javascript:alert(1)" }] })],
    ["a page of HTML in base64", answer({ data: [{ b64_json: btoa("<html><body>no</body>") }] })],
    ["no list", answer({ data: {} })],
    ["nothing else", answer({ created: 1 })],
  ])("%s", async (_, fault) => {
    fake.script(fault);
    await expectRefused(broken, await ask.picture(broken), invalid);
  });
});

test("where none of several is an image, the ledger has no delivered image", async () => {
  fake.script(answer({ data: [{ b64_json: "AAAA" }, { b64_json: "AAAA" }] }));
  await expectRefused(broken, await ask.picture(broken, { n: 2 }), { ...invalid, images: 0 });
});

describe("pictures that are true are delivered", () => {
  test("fewer than were asked for, as moderation may take some: what came was paid for", async () => {
    fake.script({ images: "missing" });
    const response = await ask.picture(broken, { n: 2 });
    expect(await response.json()).toMatchObject({ data: [{ b64_json: picture }] });
    expect(rowOf(broken, response)).toMatchObject({ status: 200, images: 1, outputTokens: 1056 });
  });

  test("more than were asked for: as many as were asked for, and the ledger has the number delivered", async () => {
    fake.script({ images: "extra" });
    const response = await ask.picture(broken, { n: 1 });
    const { data } = (await response.json()) as { data: unknown[] };
    expect(data).toHaveLength(1);
    expect(response.headers.get("vexel-missing")).toBeNull();
    expect(rowOf(broken, response).images).toBe(1);
  });

  test("a good one beside one that is none", async () => {
    fake.script(answer({ data: [{ b64_json: "AAAA" }, { b64_json: picture }] }));
    const response = await ask.picture(broken, { n: 2 });
    expect(await response.json()).toMatchObject({ data: [{ b64_json: picture }] });
    expect(response.headers.get("vexel-missing")).toBe("1; error=upstream_invalid");
    expect(rowOf(broken, response)).toMatchObject({ status: 200, images: 1 });
  });

  test("compressed, in pieces, with white space", async () => {
    for (const fault of [
      { encoding: "gzip" },
      { trickle: { bytes: 100, everyMs: 1 } },
      { huge: 100_000 },
    ] satisfies InjectedFault[]) {
      fake.script(fault);
      const response = await ask.picture(broken);
      expect(await response.json()).toMatchObject({ data: [{ b64_json: picture }] });
    }
  });

  test("with the prefix of a data URL, which is taken off", async () => {
    fake.script(answer({ data: [{ b64_json: `data:image/png;base64,${picture}` }] }));
    const response = await ask.picture(broken);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: picture }] });
  });

  test("with what else the upstream says of them", async () => {
    const entry = { b64_json: picture, revised_prompt: "an otter, really", seed: 42 };
    const filter = { prompt_filter_results: [{ hate: { filtered: false } }] };
    fake.script(answer({ created: 7, data: [entry], model: "gpt-image-1.5", ...filter }));
    const response = await ask.picture(broken);
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
    ["half told", { total_tokens: 3 }],
    ["below zero", { total_tokens: -1, input_tokens: -1, output_tokens: -1 }],
    ["fractions", { total_tokens: 1.5, input_tokens: 1, output_tokens: 0.5 }],
  ])("with an estimated usage, unknown in the ledger, when it is %s", async (_, usage) => {
    fake.script(answer({ data: [{ b64_json: picture }], usage }));
    const response = await ask.picture(broken);
    const { usage: estimated } = (await response.json()) as { usage: { total_tokens: number } };
    expect(estimated.total_tokens).toBeGreaterThan(0);
    expect(response.headers.get("vexel-usage")).toBe("estimated");
    expect(rowOf(broken, response)).toMatchObject({
      status: 200,
      images: 1,
      inputTokens: null,
      outputTokens: null,
    });
  });
});
