/** Snowflake Cortex: https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api/embed-api. */
import { bodyAt, expectModel, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectHeader, expectOnly, writeFloats } from "./written.ts";

const root = "https://acme-otters.snowflakecomputing.com";
const tokenHeader = "x-snowflake-authorization-token-type";

const understand: VendorCase["understand"] = (request, target) => {
  const body = bodyAt(request, `${root}/api/v2/cortex/inference:embed`);
  expectHeader(request, tokenHeader, "PROGRAMMATIC_ACCESS_TOKEN");
  expectOnly(body, ["model", "text", "provisioned_throughput_id"]);
  expectModel(body, target);
  return { input: textsIn(body.text), encoding: "float" };
};

const errorBody = (message: string, error_code: string): string =>
  JSON.stringify({ message, error_code, request_id: "01afef9d-0607-0550-0001-dd270c3902d7" });

const caseOf = (name: string, baseUrl: string): VendorCase => {
  const target = targetOf("snowflake", "snowflake-arctic-embed-l-v2.0", { baseUrl });
  return {
    name,
    target,
    understand,
    response: (vectors, tokens) => {
      const data = vectors
        .map((vector, index) => {
          const embedding = `[${writeFloats(vector)}]`;
          return `{"object":"embedding","embedding":${embedding},"index":${index}}`;
        })
        .toReversed();
      const usage = tokens === undefined ? "" : `,"usage":{"total_tokens":${tokens}}`;
      return {
        body: `{"object":"list","data":[${data.join(",")}],"model":"${target.model}"${usage}}`,
      };
    },
    tellsUsage: true,
    refusals: refusalsOf([
      ["upstream_credentials", 401, errorBody("Programmatic access token is invalid.", "394400")],
      ["model_not_found", 400, errorBody(`unknown model ${target.model}`, "390142")],
      ["context_length_exceeded", 400, errorBody("text is too long", "390142")],
      ["upstream_forbidden", 403, errorBody("Not authorized.", "390403")],
      ["upstream_rate_limit", 429, errorBody("Too many requests.", "390429")],
      ["upstream_error", 500, errorBody("Internal error.", "390500")],
      ["upstream_overloaded", 503, ""],
      ["upstream_timeout", 504, ""],
    ]),
  };
};

export const snowflakeCases: readonly VendorCase[] = [
  caseOf("snowflake", root),
  caseOf("snowflake, by an address with a version", `${root}/api/v2`),
];
