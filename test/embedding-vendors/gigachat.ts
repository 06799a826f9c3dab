/** GigaChat: gigachat 0.2.3 (api/embeddings.py, models/embeddings.py), errors of developers.sber.ru/docs/ru/gigachat. */
import { expectModel, textsIn } from "./bearer-case.ts";
import { targetWithoutKey } from "./exchanged-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, expectUrl, readBody, writeFloats } from "./written.ts";

const understand: VendorCase["understand"] = (request, target) => {
  expectUrl(request, "https://api.giga.chat/v1/embeddings");
  const body = readBody(request);
  expectOnly(body, ["model", "input"]);
  expectModel(body, target);
  return { input: textsIn(body.input), encoding: "float" };
};

const errorBody = (status: number, message: string): string => JSON.stringify({ status, message });

export const gigachatCases: readonly VendorCase[] = [
  {
    name: "gigachat",
    target: targetWithoutKey("gigachat", "EmbeddingsGigaR", {}),
    understand,
    // Each entry reports the tokens of its own input: here the first one has all of them.
    response: (vectors, tokens) => {
      const data = vectors.map((vector, index) => {
        const count = index === 0 ? tokens : 0;
        const usage = tokens === undefined ? "" : `,"usage":{"prompt_tokens":${count}}`;
        return `{"object":"embedding","embedding":${writeFloats(vector)},"index":${index}${usage}}`;
      });
      return { body: `{"object":"list","data":[${data.join(",")}],"model":"EmbeddingsGigaR"}` };
    },
    tellsUsage: true,
    refusals: refusalsOf([
      ["upstream_credentials", 401, errorBody(401, "Unauthorized")],
      ["insufficient_quota", 402, errorBody(402, "Payment Required")],
      ["upstream_forbidden", 403, errorBody(403, "Permission denied")],
      ["model_not_found", 404, errorBody(404, "No such model")],
      ["upstream_error", 404, "404 page not found"],
      ["upstream_rejected", 422, errorBody(422, "Invalid params: input is empty")],
      ["upstream_rate_limit", 429, errorBody(429, "Too Many Requests")],
      ["upstream_error", 500, errorBody(500, "Internal Server Error")],
      ["upstream_overloaded", 503, ""],
    ]),
  },
];
