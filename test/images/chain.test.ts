/**
 * The failover chain of an image model: moderation, OpenAI's Images API, its Responses API, Azure; and its record in
 * the ledger.
 */

import { beforeEach, describe, expect, test } from "bun:test";
import OpenAI, { BadRequestError, toFile } from "openai";
import { closeAfterAll } from "../clean-up.ts";
import { base64Of, grayImage, maskOf, refusalOf } from "../conformance/arrange.ts";
import { startGateway, testKey } from "../harness.ts";

interface ReceivedRequest {
  readonly path: string;
  readonly body: Record<string, unknown>;
  readonly form?: FormData;
}

const image = base64Of(grayImage("an otter", 64));
const received: ReceivedRequest[] = [];
/** Replacement responses, by the end of the path. */
let instead: Record<string, () => Response> = {};

const images = () =>
  Response.json({ created: 1_700_000_000, data: [{ b64_json: image }], output_format: "png" });

/** The members that the official client's types say a response has. */
const response = (result: object) => ({
  id: "resp_1",
  object: "response",
  created_at: 1_700_000_001,
  status: "completed",
  error: null,
  model: "gpt-5.1-2025-11-13",
  output: [
    { id: "rs_1", type: "reasoning", summary: [] },
    { id: "ig_1", type: "image_generation_call", status: "completed", ...result },
  ],
  usage: { input_tokens: 900, output_tokens: 50, total_tokens: 950 },
  tool_usage: {
    image_gen: {
      input_tokens: 20,
      input_tokens_details: { text_tokens: 20, image_tokens: 0 },
      output_tokens: 272,
      total_tokens: 292,
    },
  },
});
const generatedOutput = {
  result: image,
  revised_prompt: "A photograph of an otter, at dusk",
  size: "1024x1024",
  quality: "low",
  background: "opaque",
  output_format: "png",
};

const frame = (event: { readonly type: string; readonly [name: string]: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const streamed = () =>
  new Response(
    [
      frame({ type: "response.created", response: { id: "resp_1" } }),
      frame({
        type: "response.image_generation_call.partial_image",
        partial_image_b64: image,
        partial_image_index: 0,
        size: "1024x1024",
      }),
      frame({ type: "response.completed", response: response(generatedOutput) }),
    ].join(""),
    { headers: { "content-type": "text/event-stream" } },
  );

const usual: Record<string, (receivedRequest: ReceivedRequest) => Response> = {
  "images/generations": images,
  "images/edits": images,
  responses: ({ body }) => (body.stream ? streamed() : Response.json(response(generatedOutput))),
  moderations: ({ body }) => {
    const flagged = String(body.input).includes("forbidden");
    const categories = { violence: flagged, "violence/graphic": false };
    const results = [{ flagged, categories, category_scores: {} }];
    return Response.json({ id: "modr-1", model: body.model, results });
  },
};

const fake = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const path = new URL(request.url).pathname;
    const isForm = request.headers.get("content-type")?.startsWith("multipart/");
    const form = isForm ? ((await request.formData()) as unknown as FormData) : undefined;
    const body = form ? {} : ((await request.json()) as Record<string, unknown>);
    const receivedRequest = { path, body, ...(form && { form }) };
    received.push(receivedRequest);
    const name = Object.keys(usual).find((end) => path.endsWith(end)) ?? "";
    return (instead[name] ?? (() => usual[name]!(receivedRequest)))();
  },
});
const url = `http://127.0.0.1:${fake.port}`;
const target = (upstream: string, more = "") =>
  `{ upstream: ${upstream}, model: gpt-image-2.5-flare${more} }`;
const gateway = startGateway({
  yaml: `
upstreams:
  - { id: openai, kind: openai, baseUrl: "${url}/v1", apiKey: sk-fake }
  - { id: azure, kind: azure, baseUrl: "${url}/azure", apiKey: azure-fake }
models:
  - id: chained
    kind: image
    moderation: { upstream: openai }
    targets:
      - ${target("openai")}
      - ${target("openai", ", surface: responses, via: gpt-5.1")}
      - ${target("azure")}
  - { id: via-responses, kind: image, targets: [${target("openai", ", surface: responses")}] }
  - id: unwatched
    kind: image
    moderation: { upstream: openai, onFailure: allow }
    targets: [${target("openai")}]
keys:
  - { name: test, key: ${testKey} }
`,
});
const client = new OpenAI({ baseURL: gateway.baseURL, apiKey: testKey, maxRetries: 0 });
beforeEach(() => {
  received.length = 0;
  instead = {};
});
closeAfterAll(gateway, fake);

const overloaded = () =>
  Response.json(
    { error: { message: "busy", type: "x", code: "server_is_overloaded" } },
    { status: 503 },
  );
const otter = (model: string) => ({ model, prompt: "an otter" });
const post = (model: string) => gateway.post("/v1/images/generations", otter(model));
/** The row of the last image request. The moderation of its prompt has a row of its own. */
const imageRow = () => gateway.rows().findLast(({ endpoint }) => endpoint !== "moderations");
const steps = () => imageRow()?.steps;
const paths = () => received.map(({ path }) => path.replace(/^\/(v1|azure)\//, ""));

describe("a chain", () => {
  test("calls the moderation, then the Images API, and no other API when that responds", async () => {
    await client.images.generate(otter("chained"));
    expect(paths()).toEqual(["moderations", "images/generations"]);
    expect(received[0]?.body).toEqual({ model: "omni-moderation-latest", input: "an otter" });
    expect(steps()).toBe("moderation: passed; openai/gpt-image-2.5-flare: generated");
  });

  test("fails over to the Responses API when the Images API fails, and then to Azure", async () => {
    instead = { "images/generations": overloaded };
    const { data } = await client.images.generate(otter("chained"));
    expect(data?.[0]?.revised_prompt).toBe("A photograph of an otter, at dusk");
    expect(paths()).toEqual(["moderations", "images/generations", "responses"]);
    expect(steps()).toBe(
      "moderation: passed; openai/gpt-image-2.5-flare: upstream_overloaded; openai/gpt-image-2.5-flare (responses): generated",
    );
    instead = { responses: overloaded };
    received.length = 0;
    let requested = 0;
    instead["images/generations"] = () => (requested++ === 0 ? overloaded() : images());
    await client.images.generate(otter("chained"));
    expect(paths()).toEqual([
      "moderations",
      "images/generations",
      "responses",
      "openai/v1/images/generations",
    ]);
    expect(imageRow()).toMatchObject({ upstream: "azure", attempts: 3 });
  });

  test("fails over after an error that OpenAI reports itself, because OpenAI does not bill it", async () => {
    const failed = (type: string, status: number) => () =>
      Response.json({ error: { message: "Sorry about that!", type, code: null } }, { status });
    instead = { "images/generations": failed("server_error", 500) };
    await client.images.generate(otter("chained"));
    expect(paths()).toEqual(["moderations", "images/generations", "responses"]);
    expect(imageRow()).toMatchObject({ attempts: 2, status: 200 });
    // From a proxy in between, which cannot know what the upstream did.
    for (const unsure of [failed("bad_gateway", 500), failed("server_error", 502)]) {
      gateway.resetTargets();
      received.length = 0;
      instead = { "images/generations": unsure };
      const upstreamResponse = await post("chained");
      expect(upstreamResponse.status).toBe(502);
      expect(upstreamResponse.headers.get("x-should-retry")).toBe("false");
      expect(paths()).toEqual(["moderations", "images/generations"]);
    }
    gateway.resetTargets();
  });

  test("skips an API that cannot serve the request, without calling it", async () => {
    // `markup` is a file that only the Images API takes.
    const form = new FormData();
    form.set("model", "chained");
    form.set("prompt", "add a hat");
    form.set("image", new Blob([grayImage("a")]), "a.png");
    form.set("markup", new Blob([await maskOf()]), "b.png");
    instead = { "images/edits": overloaded };
    const upstreamResponse = await fetch(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: { authorization: `Bearer ${testKey}` },
      body: form,
    });
    expect(upstreamResponse.status).toBe(503);
    expect(paths().slice(0, 3)).toEqual(["moderations", "images/edits", "openai/v1/images/edits"]);
    // An overloaded surface is retried; an unsupported one is not.
    expect(new Set(paths()).size).toBe(3);
    expect(steps()).toContain("(responses): skipped, request not supported: unknown_parameter");
  });

  test("ends with the flagged categories of the moderation, before anything is billed", async () => {
    const error = await refusalOf(
      client.images.generate({ model: "chained", prompt: "something forbidden" }),
      BadRequestError,
    );
    expect(error).toMatchObject({
      code: "moderation_blocked",
      type: "image_generation_user_error",
    });
    expect(error.error).toMatchObject({
      moderation_details: { moderation_stage: "input", categories: ["violence"] },
    });
    expect(paths()).toEqual(["moderations"]);
    expect(steps()).toBe("moderation: flagged");
  });

  test("generates nothing unmoderated when the moderation fails, unless configured to", async () => {
    instead = { moderations: overloaded };
    const refused = await post("chained");
    expect(refused.status).toBe(502);
    expect(paths()).toEqual(["moderations"]);
    const allowed = await post("unwatched");
    expect(allowed.status).toBe(200);
    expect(steps()).toBe("moderation: upstream_overloaded; openai/gpt-image-2.5-flare: generated");
  });
});

describe("the Responses API", () => {
  test("generates with the image tool, and returns the revised prompt", async () => {
    const upstreamResponse = await client.images.generate({
      model: "via-responses",
      prompt: "an otter",
      size: "1024x1024",
      quality: "low",
      background: "opaque",
      output_format: "png",
      moderation: "low",
      user: "user-1",
    });
    expect(received[0]?.body).toEqual({
      model: "gpt-5.4",
      input: "an otter",
      tools: [
        {
          type: "image_generation",
          model: "gpt-image-2.5-flare",
          action: "generate",
          size: "1024x1024",
          quality: "low",
          background: "opaque",
          moderation: "low",
          output_format: "png",
        },
      ],
      tool_choice: { type: "image_generation" },
      store: false,
      user: "user-1",
    });
    expect(upstreamResponse).toMatchObject({
      created: 1_700_000_001,
      data: [{ b64_json: image, revised_prompt: "A photograph of an otter, at dusk" }],
      quality: "low",
      background: "opaque",
      usage: { input_tokens: 20, output_tokens: 272, total_tokens: 292 },
    });
  });

  test("generates several images with several requests", async () => {
    const { data } = await client.images.generate({ ...otter("via-responses"), n: 3 });
    expect(data).toHaveLength(3);
    expect(paths()).toEqual(["responses", "responses", "responses"]);
    expect(imageRow()).toMatchObject({ images: 3, outputTokens: 3 * 272 });
  });

  test("edits, with images and a mask in the body", async () => {
    const [image, mask] = [grayImage("a"), await maskOf()];
    await client.images.edit({
      model: "via-responses",
      prompt: "add a hat",
      image: await toFile(image, "a.png"),
      mask: await toFile(mask, "mask.png"),
    });
    const dataUrl = (bytes: Uint8Array) => `data:image/png;base64,${base64Of(bytes)}`;
    expect(received[0]?.body).toMatchObject({
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "add a hat" },
            { type: "input_image", image_url: dataUrl(image) },
          ],
        },
      ],
      tools: [{ action: "edit", input_image_mask: { image_url: dataUrl(mask) } }],
    });
  });

  test("streams partial images and the image", async () => {
    const stream = await client.images.generate({
      ...otter("via-responses"),
      stream: true,
      partial_images: 1,
    });
    const events = await Array.fromAsync(stream);
    expect(events.map(({ type }) => type)).toEqual([
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
    expect(events[1]).toMatchObject({ b64_json: image, quality: "low", size: "64x64" });
  });

  test("that refuses in text, or in its image call, is a moderation error", async () => {
    const refusal = { type: "refusal", refusal: "I cannot draw this." };
    const error = {
      code: "moderation_blocked",
      message: "No.",
      type: "image_generation_user_error",
    };
    for (const body of [
      { ...response({}), output: [{ type: "message", content: [refusal] }] },
      response({ error, result: null }),
    ]) {
      instead = { responses: () => Response.json(body) };
      const refused = client.images.generate(otter("via-responses"));
      expect(await refusalOf(refused, BadRequestError)).toMatchObject({
        code: "moderation_blocked",
      });
    }
  });

  test("that responds with text only is an upstream error", async () => {
    const output = [{ type: "message", content: [{ type: "output_text", text: "Hello!" }] }];
    instead = { responses: () => Response.json({ ...response({}), output }) };
    const upstreamResponse = await post("via-responses");
    expect(upstreamResponse.status).toBe(502);
    const { error } = (await upstreamResponse.json()) as { error: { code: string } };
    expect(error.code).toBe("upstream_invalid");
  });
});
