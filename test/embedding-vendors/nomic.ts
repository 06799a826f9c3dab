/** Nomic's Atlas API, as its client nomic/embed.py uses it; the error messages are made up. */
import { bodyAt, expectModel, lengthIn, purposeIn, targetOf, textsIn } from "./bearer-case.ts";
import type { VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const understand: VendorCase["understand"] = (request, target) => {
  const body = bodyAt(request, "https://api-atlas.nomic.ai/v1/embedding/text");
  expectOnly(body, ["model", "texts", "task_type", "dimensionality", "long_text_mode"]);
  if (body.long_text_mode !== "mean") throw new Error("a long text would be cut");
  expectModel(body, { ...target, model: target.model.replace("vision", "text") });
  return {
    input: textsIn(body.texts),
    encoding: "float",
    ...lengthIn(body.dimensionality),
    ...purposeIn(body.task_type),
  };
};

const detail = (words: unknown): string => JSON.stringify({ detail: words });

const caseOf = (name: string, model: string): VendorCase => {
  const target = targetOf("nomic", model);
  return {
    name,
    target,
    understand,
    response: (vectors, tokens) => ({
      body: `{"embeddings":[${vectors.map(writeFloats).join(",")}],${tokens === undefined ? "" : `"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}},`}"model":"${model}"}`,
    }),
    tellsUsage: true,
    refusals: [
      { status: 401, body: detail("Invalid authorization token"), error: "upstream_credentials" },
      { status: 403, body: detail("Forbidden"), error: "upstream_forbidden" },
      {
        status: 422,
        body: detail([
          {
            loc: ["body", "task_type"],
            msg: "value is not a valid enumeration member",
            type: "type_error.enum",
          },
        ]),
        error: "upstream_rejected",
      },
      { status: 429, body: detail("Rate limit exceeded"), error: "upstream_rate_limit" },
      { status: 500, body: "Internal Server Error", error: "upstream_error" },
      { status: 503, body: "", error: "upstream_overloaded" },
    ],
  };
};

export const nomicCases: readonly VendorCase[] = [
  caseOf("nomic", "nomic-embed-text-v1.5"),
  caseOf("nomic, v1", "nomic-embed-text-v1"),
  caseOf("nomic, vision", "nomic-embed-vision-v1.5"),
];
