/**
 * HF Inference: @huggingface/tasks and @huggingface/inference; errors as in public reports; where none was found, the
 * messages are made up.
 */
import { bodyAt, purposeIn, targetOf, textsIn } from "./bearer-case.ts";
import type { VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const router = "https://router.huggingface.co/hf-inference";

const understand: VendorCase["understand"] = (request) => {
  const body = bodyAt(
    request,
    `${router}/models/intfloat/multilingual-e5-large/pipeline/feature-extraction`,
  );
  expectOnly(body, ["inputs", "normalize", "prompt_name", "truncate", "truncation_direction"]);
  if (body.truncate !== false) throw new Error("a long text would be cut");
  return { input: textsIn(body.inputs), encoding: "float", ...purposeIn(body.prompt_name) };
};

const error = (message: string): string => JSON.stringify({ error: message });

export const huggingfaceCases: readonly VendorCase[] = [
  {
    name: "huggingface",
    target: targetOf("huggingface", "intfloat/multilingual-e5-large", {
      options: { prompts: { query: "query", document: "doc" } },
    }),
    understand,
    response: (vectors) => ({ body: `[${vectors.map(writeFloats).join(",")}]` }),
    tellsUsage: false,
    refusals: [
      { status: 401, body: error("Invalid username or password."), error: "upstream_credentials" },
      {
        status: 402,
        body: error(
          "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.",
        ),
        error: "insufficient_quota",
      },
      { status: 404, body: "Not Found", error: "model_not_found" },
      {
        status: 400,
        body: error("Model not supported by provider hf-inference"),
        error: "model_not_found",
      },
      {
        status: 413,
        body: error("Input validation error: `inputs` must have less than 512 tokens. Given: 700"),
        error: "upstream_rejected",
      },
      { status: 429, body: error("Rate limit reached."), error: "upstream_rate_limit" },
      { status: 500, body: error("Internal Server Error"), error: "upstream_error" },
      {
        status: 503,
        body: JSON.stringify({
          error: "Model intfloat/multilingual-e5-large is currently loading",
          estimated_time: 20,
        }),
        error: "upstream_overloaded",
      },
    ],
  },
];
