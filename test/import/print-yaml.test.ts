/** `vexel import --yaml` prints no secret of the imported gateway. */
import { expect, test } from "bun:test";
import { planLitellm } from "../../cli/import/litellm/plan.ts";
import { emptySource } from "../../cli/import/litellm/source.ts";
import { printDetails } from "../../cli/import/print-report.ts";
import { printYaml } from "../../cli/import/print-yaml.ts";
import { Report } from "../../cli/import/report.ts";

const entry = (name: string, params: Record<string, unknown>) => ({
  model_name: name,
  litellm_params: params,
  model_info: { mode: "embedding" },
  where: "config.yaml",
});

test("no secret is printed, however short it is, and names stay readable", () => {
  const report = new Report();
  const plan = planLitellm(
    {
      ...emptySource,
      models: [
        entry("a", { model: "openai/text-embedding-3-small", api_key: "hunter2" }),
        entry("b", {
          model: "bedrock/amazon.titan-embed-text-v2:0",
          aws_region_name: "us-west-2",
          aws_access_key_id: "AKIAIOSFODNN7EXAMPLE",
          aws_secret_access_key: "short.secret",
        }),
        entry("c", {
          model: "openai/text-embedding-3-small",
          api_base: "https://user:hidden@example.com/v1?code=parameter",
          api_key: "os.environ/NAME",
          extra_headers: { "x-team": "header-value" },
        }),
      ],
    },
    report,
    ({ text }) => text,
    Date.now(),
  );
  const { text, newVariables } = printYaml(plan);
  const printed = `${text}\n${printDetails(report.lines)}`;
  for (const secret of [
    "hunter2",
    "AKIAIOSFODNN7EXAMPLE",
    "short.secret",
    "hidden",
    "code=parameter",
    "header-value",
  ])
    expect(printed).not.toContain(secret);
  expect(text).toContain("region: us-west-2");
  expect(text).toMatch(/apiKey: \$\{NAME\}/);
  expect(newVariables).toHaveLength(5);
});
