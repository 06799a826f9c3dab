/**
 * Errors in OpenAI's words: programs branch on the code, and read the bound or the list from the message.
 *
 * Captures of OpenAI's API: numbers, github.com/thisisartium/continuous-alignment-testing/issues/25; decimals,
 * github.com/Jeffser/Alpaca/issues/904; a size that is not in a model's list, github.com/shekar369/studioAI
 * (ISSUE_FIXED.md) and, with its code, the .NET sample "GetImage" of Microsoft.Extensions.AI; a size of a model with a
 * rule, github.com/basketikun/infinite-canvas/issues/23; texts, github.com/VectorlyApp/bluebox/issues/31; lists,
 * github.com/0x4m4/hexstrike-ai/issues/29; a missing file, github.com/sbslee/streamlit-openai/issues/18; an error in an
 * image stream, github.com/sdcb/chats.
 */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { APIError, BadRequestError, NotFoundError, toFile } from "openai";
import { expectValidationError } from "../fuzz/expect-validation-error.ts";
import { arrange, refusalOf } from "./arrange.ts";

const { fake, gateway, client, close } = arrange();
beforeEach(() => fake.clear());
afterAll(close);

const generation = { model: "image-model", prompt: "an otter" };
const embedding = { model: "text-embedding-3-small", input: "a" };

async function errorOf(path: string, body: object) {
  const response = await gateway.post(path, body);
  const { error } = (await response.json()) as { error: Record<string, string | null> };
  return { status: response.status, error };
}

describe("a parameter out of its bounds or of another type has OpenAI's code and message", () => {
  const type = "invalid_request_error";
  const edit = { ...generation, images: [{ file_id: "file-1" }] };
  test.each([
    [
      "/v1/images/generations",
      { ...generation, n: 1.5 },
      "n",
      "invalid_type",
      "Invalid type for 'n': expected an integer, but got a decimal number instead.",
    ],
    [
      "/v1/images/generations",
      { ...generation, n: 101 },
      "n",
      "integer_above_max_value",
      "Invalid 'n': integer above maximum value. Expected a value <= 10, but got 101 instead.",
    ],
    [
      "/v1/images/generations",
      { ...generation, output_compression: 101 },
      "output_compression",
      "integer_above_max_value",
      "Invalid 'output_compression': integer above maximum value. Expected a value <= 100, but got 101 instead.",
    ],
    [
      "/v1/images/generations",
      { ...generation, partial_images: -1 },
      "partial_images",
      "integer_below_min_value",
      "Invalid 'partial_images': integer below minimum value. Expected a value >= 0, but got -1 instead.",
    ],
    [
      "/v1/images/generations",
      { ...generation, prompt: "" },
      "prompt",
      "empty_string",
      "Invalid 'prompt': empty string. Expected a string with minimum length 1, but got an empty string instead.",
    ],
    [
      "/v1/images/generations",
      { ...generation, prompt: "a".repeat(32_001) },
      "prompt",
      "string_above_max_length",
      "Invalid 'prompt': string too long. Expected a string with maximum length 32000, but got a string with length 32001 instead.",
    ],
    [
      "/v1/images/edits",
      { ...edit, n: 0 },
      "n",
      "integer_below_min_value",
      "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      "/v1/images/edits",
      { ...edit, images: [] },
      "images",
      "empty_array",
      "Invalid 'images': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ],
    [
      "/v1/images/edits",
      { ...edit, images: Array(17).fill(edit.images[0]) },
      "images",
      "array_above_max_length",
      "Invalid 'images': array too long. Expected an array with maximum length 16, but got an array with length 17 instead.",
    ],
    [
      "/v1/embeddings",
      { ...embedding, dimensions: 0 },
      "dimensions",
      "integer_below_min_value",
      "Invalid 'dimensions': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      "/v1/engines/text-embedding-3-small/embeddings",
      { input: "a", dimensions: -5 },
      "dimensions",
      "integer_below_min_value",
      "Invalid 'dimensions': integer below minimum value. Expected a value >= 1, but got -5 instead.",
    ],
  ])("%s %p", async (path, body, param, code, message) => {
    const given = await errorOf(path, body);
    expect(given).toEqual({ status: 400, error: { type, param, code, message } });
    expectValidationError({ message, param, code }, body);
    expect(fake.requests).toEqual([]);
  });

  test("in the query of a list", async () => {
    const error = await refusalOf(client.files.list({ limit: 0 }).asResponse(), BadRequestError);
    expect(error).toMatchObject({ param: "limit", code: "integer_below_min_value" });
    expect(error.message).toContain("Expected a value >= 1, but got 0 instead.");
  });

  test("in a form, inside an object", async () => {
    const expiring = client.files.create({
      file: await toFile(Buffer.from("{}"), "a.jsonl"),
      purpose: "batch",
      expires_after: { anchor: "created_at", seconds: 60 },
    });
    const error = await refusalOf(expiring, BadRequestError);
    expect(error).toMatchObject({
      param: "expires_after.seconds",
      code: "integer_below_min_value",
    });
    expect(error.message).toContain("Expected a value >= 3600, but got 60 instead.");
  });
});

describe("a wrong size", () => {
  const refused = (model: string, size: string) =>
    errorOf("/v1/images/generations", { ...generation, model, size });

  test("of a model with a list of sizes is an invalid value, and the message has the list", async () => {
    expect(await refused("image-model", "256x256")).toEqual({
      status: 400,
      error: {
        type: "invalid_request_error",
        param: "size",
        code: "invalid_value",
        message:
          "Invalid value: '256x256'. Supported values are: '1024x1024', '1024x1536', '1536x1024', and 'auto'.",
      },
    });
  });

  test.each([
    ["1792x936", "Width and height must both be divisible by 16."],
    ["4096x4096", "The longest edge must be less than or equal to 3840."],
    ["512x512", "It has 262144 pixels, which is below the minimum."],
    ["3840x3840", "It has 14745600 pixels, which is above the maximum."],
    ["3200x800", "The longer edge may be at most 3 times the shorter."],
  ])("of a model with a rule, such as %s, gets the reason and all bounds", async (size, reason) => {
    const bounds =
      "Supported values are 'auto' and WIDTHxHEIGHT with edges from 16 to 3840 that are divisible by 16, 655360 to 8294400 pixels, and an aspect ratio from 1:3 to 3:1.";
    expect(await refused("gpt-image-2", size)).toEqual({
      status: 400,
      error: {
        type: "image_generation_user_error",
        param: "size",
        code: "invalid_value",
        message: `Invalid size '${size}'. ${reason} ${bounds}`,
      },
    });
  });
});

test("a file that does not exist has the code null, and its id as the parameter", async () => {
  const error = await refusalOf(client.files.retrieve("file-abc123"), NotFoundError);
  expect(error.error).toEqual({
    message: "No such File object: file-abc123",
    type: "invalid_request_error",
    param: "id",
    code: null,
  });
});

describe("an error inside an image stream", () => {
  const request = { ...generation, stream: true, partial_images: 1 } as const;

  test("has the type of its event beside the error", async () => {
    fake.script({ stream: "error" });
    const text = await (await gateway.post("/v1/images/generations", request)).text();
    const [, data = ""] = /^event: error\ndata: (.*)\n\n$/m.exec(text) ?? [];
    expect(JSON.parse(data)).toEqual({
      type: "error",
      error: expect.objectContaining({ code: expect.any(String), message: expect.any(String) }),
    });
  });

  test("is thrown by the official client", async () => {
    fake.script({ stream: "error" });
    const stream = await client.images.generate(request);
    const read = (async () => {
      for await (const event of stream) expect(event.type).toStartWith("image_generation.");
    })();
    const error = await refusalOf(read, APIError);
    expect(error.type).not.toBe("error");
    expect(error.code).toBeString();
  });
});
