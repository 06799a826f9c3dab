/**
 * HF Inference: @huggingface/tasks and @huggingface/inference; errors as in public reports; where none was found, the
 * messages are made up.
 */
import { bodyAt, purposeIn, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
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
    refusals: refusalsOf([
      ["upstream_credentials", 401, error("Invalid username or password.")],
      [
        "insufficient_quota",
        402,
        error(
          "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits.",
        ),
      ],
      ["model_not_found", 404, "Not Found"],
      ["model_not_found", 400, error("Model not supported by provider hf-inference")],
      [
        "context_length_exceeded",
        413,
        error("Input validation error: `inputs` must have less than 512 tokens. Given: 700"),
      ],
      ["upstream_rate_limit", 429, error("Rate limit reached.")],
      ["upstream_error", 500, error("Internal Server Error")],
      [
        "upstream_overloaded",
        503,
        JSON.stringify({
          error: "Model intfloat/multilingual-e5-large is currently loading",
          estimated_time: 20,
        }),
      ],
    ]),
  },
];
