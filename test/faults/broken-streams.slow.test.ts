/** Image streams of upstreams that break, fail or are not streams: the client's stream always ends properly. */

import { beforeEach, describe, expect, test } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { closeAfterAll } from "../clean-up.ts";
import { fakeImage, type InjectedFault } from "../fake-upstream.ts";
import {
  type ExpectedError,
  eventsOf,
  expectError,
  expectNoSecrets,
  type FaultSetup,
  jsonResponse,
  rowOf,
  send,
  startFaultSetup,
  upstreamFailure,
} from "./faults-fixture.ts";

const setup = startFaultSetup();
const shortTimeout = startFaultSetup({ settings: { VEXEL_IMAGES_TIMEOUT: "2" } });
const { fake } = setup;
beforeEach(() => fake.clear());
closeAfterAll(setup, shortTimeout);

const base64 = (stage?: string, at = 0): string =>
  Buffer.from(
    fakeImage("an otter", at, { format: "png", width: 1024, height: 1024 }, stage),
  ).toString("base64");
const streamed = (more: object = {}, from = setup) =>
  send.image(from, { stream: true, partial_images: 2, ...more });
const stream = (...frames: string[]): InjectedFault => ({
  response: {
    status: 200,
    headers: { "content-type": "Text/Event-Stream" },
    body: frames.map((frame) => `${frame}\n\n`).join(""),
  },
});
const data = (payload: object): string => `data: ${JSON.stringify(payload)}`;
const completed = (more: object = {}): string =>
  data({ type: "image_generation.completed", b64_json: base64(), ...more });

/** Expects a stream whose last event is the one error event, and a ledger row with the same error. */
async function expectBroken(
  from: FaultSetup,
  response: Response,
  expected: { events: readonly string[]; code: string; status: number },
): Promise<Record<string, unknown>> {
  const text = await response.text();
  expect(response.status, text.slice(0, 300)).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  const events = eventsOf(text);
  expect(events.map(({ event }) => event)).toEqual([...expected.events, "error"]);
  const { error, ...others } = events.at(-1)!.data as { error: Record<string, unknown> };
  expect(others).toEqual({ type: "error" });
  expect(Object.keys(error).toSorted()).toEqual(["code", "message", "param", "type"]);
  expect(error).toMatchObject({ code: expected.code, type: "server_error", param: null });
  expectNoSecrets(setup, response, text);
  expect(rowOf(from, response)).toMatchObject({
    status: expected.status,
    error: expected.code,
    images: null,
    inputTokens: null,
    outputTokens: null,
  });
  return error;
}

const invalid = upstreamFailure("upstream_invalid");
const partials = ["image_generation.partial_image", "image_generation.partial_image"];

describe("a stream that breaks after its first events ends with an error event", () => {
  const invalidImage = stream(
    data({
      type: "image_generation.partial_image",
      b64_json: base64("partial 0"),
      partial_image_index: 0,
    }),
    data({ type: "image_generation.completed", b64_json: "aGVsbG8=" }),
  );

  const anyMessage = /./;

  test.each<[string, InjectedFault, number, ErrorKind, RegExp]>([
    [
      "the connection is cut in the middle of an event",
      { stream: "cut" },
      2,
      "upstream_unreachable",
      anyMessage,
    ],
    ["the connection is reset", { reset: "mid-body" }, 1, "upstream_unreachable", anyMessage],
    [
      "it ends before the final image",
      { stream: "ends-early" },
      2,
      "upstream_invalid",
      /ended before the image was complete/,
    ],
    [
      "the upstream sends an error event",
      { stream: "error" },
      2,
      "upstream_error",
      /^The upstream failed \(reported in its stream\)\.$/,
    ],
    ["one of its images is invalid", invalidImage, 1, "upstream_invalid", anyMessage],
  ])("when %s", async (_, fault, partialImages, code, message) => {
    fake.script(fault);
    const events = partials.slice(0, partialImages);
    const error = await expectBroken(setup, await streamed(), { events, code, status: 502 });
    expect(error.message).toMatch(message);
  });

  test("when no event follows until the timeout", async () => {
    shortTimeout.fake.script({ hang: "body" });
    await expectBroken(shortTimeout, await streamed({}, shortTimeout), {
      events: partials.slice(1),
      code: "upstream_timeout",
      status: 504,
    });
  });
});

describe("a stream that fails before its first event is refused with a status", () => {
  test.each<[string, InjectedFault]>([
    ["it is empty", { stream: "empty" }],
    ["its images are garbage", { images: "garbage" }],
    ["its images are empty", { images: "empty" }],
    ["it has no image", { images: "none" }],
    ["it is not JSON", stream("data: hello")],
    ["it is JSON but not an event", stream("data: 7")],
    ["it has only events of unknown types", stream(data({ type: "image_generation.thinking" }))],
    ["it ends before its only event does", unfinished()],
  ])("when %s", async (_, fault) => {
    fake.script(fault);
    await expectError(setup, await streamed(), invalid);
  });

  test("when it hangs from the start", async () => {
    shortTimeout.fake.script({ hang: "headers" });
    const timedOut = upstreamFailure("upstream_timeout", 504);
    await expectError(shortTimeout, await streamed({}, shortTimeout), timedOut);
  });

  test.each<[string, string, ExpectedError]>([
    [
      "moderation",
      data({
        error: {
          message: "Your request was rejected by the safety system.",
          type: "image_generation_user_error",
          code: "moderation_blocked",
        },
      }),
      {
        status: 400,
        type: "image_generation_user_error",
        code: "moderation_blocked",
        error: "moderation_blocked",
      },
    ],
    [
      "a rate limit",
      data({ error: { message: "slow", type: "tokens", code: "rate_limit_exceeded" } }),
      {
        status: 429,
        type: "tokens",
        code: "rate_limit_exceeded",
        error: "upstream_rate_limit",
      },
    ],
    [
      "an error event that has no `error` inside",
      `event: error\n${data({ type: "error", code: "server_error", message: "sorry" })}`,
      upstreamFailure("upstream_error"),
    ],
  ])("when its first event is %s", async (_, frame, expected) => {
    fake.script(stream(frame));
    await expectError(setup, await streamed(), expected);
  });
});

describe("an unusual but valid stream is delivered", () => {
  test.each<[string, InjectedFault]>([
    ["CRLF line ends and comments", { stream: "crlf" }],
    ["[DONE] at the end", { stream: "done" }],
    ["gzip", { encoding: "gzip" }],
    ["a few bytes at a time", { trickle: { bytes: 200, everyMs: 1 } }],
  ])("with %s", async (_, fault) => {
    fake.script(fault);
    const response = await streamed();
    const events = eventsOf(await response.text());
    expect(events.map(({ event, data: { b64_json } }) => [event, b64_json])).toEqual([
      ["image_generation.partial_image", base64("partial 0")],
      ["image_generation.partial_image", base64("partial 1")],
      ["image_generation.completed", base64()],
    ]);
    expect(rowOf(setup, response)).toMatchObject({ status: 200, error: null, images: 1 });
  });

  test("without the data URL prefix of its images", async () => {
    fake.script(stream(completed({ b64_json: `data:image/png;base64,${base64()}` })));
    const [event] = eventsOf(await (await streamed()).text());
    expect(event!.data.b64_json).toBe(base64());
  });

  test("without its events of unknown types", async () => {
    fake.script(stream(data({ type: "image_generation.thinking", b64_json: "x" }), completed()));
    const events = eventsOf(await (await streamed()).text());
    expect(events.map(({ event }) => event)).toEqual(["image_generation.completed"]);
  });
});

describe("a client gets a stream or a whole response as requested, whatever the upstream sends:", () => {
  test("a whole response becomes events", async () => {
    fake.script({ stream: "json" });
    const response = await streamed({ n: 2, safety_identifier: "hash-1" });
    const events = eventsOf(await response.text());
    expect(events.map(({ event, data: { b64_json } }) => [event, b64_json])).toEqual([
      ["image_generation.completed", base64()],
      ["image_generation.completed", base64("final", 1)],
    ]);
    // Every event must have a usage: together they say what the response says.
    expect(events.map(({ data: { usage } }) => usage)).toMatchObject([
      { output_tokens: 1056, input_tokens_details: { image_tokens: 0 } },
      { output_tokens: 1056, input_tokens_details: { image_tokens: 0 } },
    ]);
    for (const { data: payload } of events) {
      expect(payload).toMatchObject({
        type: "image_generation.completed",
        size: "1024x1024",
        quality: "medium",
        background: "opaque",
        output_format: "png",
        safety_identifier: "hash-1",
      });
      expect(payload.created_at).toBeInteger();
    }
    expect(rowOf(setup, response)).toMatchObject({ status: 200, images: 2, outputTokens: 2112 });
  });

  test("a stream becomes a whole response", async () => {
    const usage = { total_tokens: 3, input_tokens: 1, output_tokens: 2 };
    const imageMetadata = {
      size: "1024x1024",
      quality: "high",
      background: "opaque",
      output_format: "png",
    };
    const more = { created_at: 1_700_000_000, ...imageMetadata, usage };
    fake.script(
      stream(
        data({
          type: "image_generation.partial_image",
          b64_json: base64("partial 0"),
          ...imageMetadata,
        }),
        completed(more),
        completed({ ...more, b64_json: base64("final", 1) }),
      ),
    );
    const response = await send.image(setup, { n: 2 });
    expect(await response.json()).toEqual({
      created: 1_700_000_000,
      ...imageMetadata,
      data: [{ b64_json: base64() }, { b64_json: base64("final", 1) }],
      usage: {
        total_tokens: 6,
        input_tokens: 2,
        output_tokens: 4,
        input_tokens_details: { text_tokens: 2, image_tokens: 0 },
      },
    });
    expect(rowOf(setup, response)).toMatchObject({ images: 2, inputTokens: 2, outputTokens: 4 });
  });

  test("an unrequested stream that breaks becomes an error response", async () => {
    fake.script(stream(data({ type: "image_generation.partial_image", b64_json: base64() })));
    await expectError(setup, await send.image(setup), invalid);
  });

  test("an image URL that cannot be downloaded becomes an error", async () => {
    fake.script(jsonResponse({ data: [{ url: "https://10.0.0.1/a.png" }] }));
    const error = await expectError(setup, await streamed(), { ...invalid, images: 0 });
    expect(error.message).toContain("does not lead to a public address");
  });
});

function unfinished(): InjectedFault {
  return {
    response: {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: completed().slice(0, -5),
    },
  };
}
