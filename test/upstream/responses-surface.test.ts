/** The requests of the Responses API to OpenAI: cases that the tests through a gateway do not cover. */
import { expect, test } from "bun:test";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { Target } from "../../server/upstream/contract.ts";
import { bodyOf, query, targetOf } from "./image-adapter-fixture.ts";

const openai = adapters.get("openai")!;
const target: Target = { ...targetOf("openai", "gpt-image-2.6-flare"), surface: "responses" };

test("the language model that calls the image tool has no announced shutdown", async () => {
  const body = await bodyOf(openai.generations!.toUpstream(query(), target));
  // openai-python 3.49.0, ChatModel: "Announced shutdown date".
  const ending = /^(gpt-5(\.1)?(-mini|-nano|-chat-latest|-codex)?|gpt-5\.4-nano|gpt-4.*|o\d.*)$/;
  expect(body.model).not.toMatch(ending);
});

test("the svg settings of a request reach the image tool", async () => {
  const svg = { model: "gpt-6-sol", reasoning: { effort: "high" } };
  const options = { output_format: "svg", svg };
  expect(openai.imageCapabilities!(target, "generations").takes).toMatchObject({ svg: "any" });
  const { tools } = await bodyOf(openai.generations!.toUpstream(query({ options }), target));
  expect(tools).toEqual([expect.objectContaining({ output_format: "svg", svg })]);
});
