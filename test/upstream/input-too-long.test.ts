/** What vendors say of an input with more tokens than the model reads, in their own words. */
import { expect, test } from "bun:test";
import { isInputTooLong } from "../../server/upstream/rejected-input.ts";

test.each([
  // llama.cpp b11549, and older builds.
  "input (203 tokens) is larger than the max context size (128 tokens). skipping",
  "input (602 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
  "input is too large to process. increase the physical batch size",
  "request (602 tokens) exceeds the available context size (512 tokens), try increasing it",
  "rpc error: code = Unknown desc = input is too large to process. increase the physical batch size",
  "the input length exceeds the context length",
  "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (9000 in your prompt).",
  "Invalid 'input[8]': maximum input length is 8192 tokens.",
  "The input (602 tokens) is longer than the model's context length (512 tokens).",
  "Input validation error: `inputs` must have less than 512 tokens. Given: 602",
  "Input id 1 has 9000 tokens, exceeding max 8192 tokens.",
  "The example at index 0 in your batch has too many tokens and does not fit into the model's context window of 32000 tokens.",
  "Too many input tokens. Max input tokens: 8192, request input token count: 9000",
  "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 8192]",
  "Input length 602 exceeds maximum allowed token size 512",
  "The input token count (9000) exceeds the maximum number of tokens allowed (2048).",
])("is too long: %s", (message) => {
  expect(isInputTooLong(message)).toBe(true);
});

test.each([
  "Too many tokens overall, split into more batches.",
  "Request to model 'voyage-4' failed. The max allowed tokens per submitted batch is 120000.",
  "batch size is invalid, it should not be larger than 10.: input.contents",
  "The input image is too large to process.",
  "input image_url too long",
  "Invalid 'input': list of texts must not be empty.",
  "Input should be a valid string",
  "The server had an error while processing your request. Sorry about that!",
  "image generation failed: context deadline exceeded",
])("is another error: %s", (message) => {
  expect(isInputTooLong(message)).toBe(false);
});
