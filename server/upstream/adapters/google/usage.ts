/** Converts Gemini's token counts of an image into OpenAI's usage fields. */
import type { BufferedImageResponse, ImageUsage } from "../../contract.ts";
import { isCount, memberOf } from "../wire/members.ts";

/** googleapis/js-genai, GenerateContentResponseUsageMetadata: the total is the sum of the four counts. */
export function geminiUsage(reported: unknown): Pick<BufferedImageResponse, "usage"> {
  const prompt = memberOf(reported, "promptTokenCount");
  const total = memberOf(reported, "totalTokenCount");
  if (!isCount(prompt) || !isCount(total)) return {};
  // The results of tools are input; tokens that are neither are output.
  const tools = memberOf(reported, "toolUsePromptTokenCount") ?? 0;
  const input = prompt + (isCount(tools) ? tools : 0);
  const output = total - input;
  if (output < 0) return {};
  return {
    usage: {
      total_tokens: total,
      input_tokens: input,
      output_tokens: output,
      ...details("input_tokens_details", memberOf(reported, "promptTokensDetails"), input),
      ...details("output_tokens_details", memberOf(reported, "candidatesTokensDetails"), output),
    },
  };
}

/** Tokens that are not of images count as text: thoughts have the price of text too. */
function details<N extends keyof ImageUsage>(
  name: N,
  reported: unknown,
  of: number,
): { readonly [K in N]?: { readonly text_tokens: number; readonly image_tokens: number } } {
  if (!Array.isArray(reported) || reported.length === 0) return {};
  const images = reported
    .filter((entry) => memberOf(entry, "modality") === "IMAGE")
    .map((entry) => memberOf(entry, "tokenCount"));
  if (!images.every(isCount)) return {};
  const image_tokens = images.reduce((sum, count) => sum + count, 0);
  if (image_tokens > of) return {};
  return { [name]: { text_tokens: of - image_tokens, image_tokens } } as ReturnType<
    typeof details<N>
  >;
}
