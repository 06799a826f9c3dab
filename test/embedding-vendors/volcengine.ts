/** Vision embedding models of Volcengine's Ark: byteplus-python-sdk-v2 3.0.63; the error messages are made up. */
import { bodyAt, expectModel, lengthIn, targetOf } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const target = targetOf("volcengine", "doubao-embedding-vision-251215");

/** All parts of the list become one vector, so a request has one text only. */
const understand: VendorCase["understand"] = (request) => {
  const body = bodyAt(request, "https://ark.cn-beijing.volces.com/api/v3/embeddings/multimodal");
  expectOnly(body, ["model", "input", "dimensions", "encoding_format"]);
  expectModel(body, target);
  const [part, ...others] = body.input as { type: string; text: string }[];
  if (part?.type !== "text" || others.length > 0) throw new Error("not one text");
  return {
    input: { kind: "text", texts: [part.text] },
    encoding: "float",
    ...lengthIn(body.dimensions),
  };
};

const error = (code: string, message: string): string =>
  JSON.stringify({ error: { code, message, param: "", type: "BadRequest" } });

export const volcengineCases: readonly VendorCase[] = [
  {
    name: "volcengine, vision",
    target,
    understand,
    response: ([vector], tokens) => {
      const usage =
        tokens === undefined ? "" : `,"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens}}`;
      return {
        body: `{"id":"0","created":1,"object":"list","model":"${target.model}","data":{"object":"embedding","embedding":${writeFloats(vector)}}${usage}}`,
      };
    },
    tellsUsage: true,
    refusals: refusalsOf([
      [
        "model_not_found",
        404,
        error("InvalidEndpointOrModel.NotFound", "The model does not exist."),
      ],
      [
        "insufficient_quota",
        403,
        error("AccountOverdueError", "The account has an overdue balance."),
      ],
      ["upstream_overloaded", 429, error("ServerOverloaded", "The service is busy.")],
      ["upstream_rejected", 400, error("InvalidParameter", "The parameter `input` is not valid.")],
    ]),
  },
];
