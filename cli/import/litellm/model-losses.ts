/** Protections of entries of LiteLLM's model list, and parameters that change vectors. */
import type { FoundLoss, Loss } from "../losses.ts";
import type { SubjectReport } from "../report.ts";
import { hasContent, isTrue, namesOf } from "./column-values.ts";
import type { Parameters } from "./plan-upstream.ts";
import { jsonOf, type LitellmModel, type LitellmSource } from "./source.ts";

const ofParameters: Readonly<Record<string, Loss>> = {
  guardrails: "guardrails",
  max_budget: "shared-budgets",
  default_api_key_rpm_limit: "model-limits",
  default_api_key_tpm_limit: "model-limits",
  itpm: "model-limits",
  otpm: "model-limits",
};
const ofInfo: Readonly<Record<string, Loss>> = {
  supported_environments: "environments",
  access_windows: "environments",
};

/** Parameters that are reported as protections of the model. */
export const protectedParameters: readonly string[] = [
  ...Object.keys(ofParameters),
  "budget_duration",
  "tags",
  "tag_regex",
  "region_name",
];

/** `entries`: those of one name. */
export function modelLosses(
  entries: readonly LitellmModel[],
  source: LitellmSource,
): readonly FoundLoss[] {
  const has = (table: "litellm_params" | "model_info", names: Readonly<Record<string, Loss>>) =>
    Object.entries(names).flatMap(([field, loss]) =>
      entries.some((entry) => hasContent(entry[table][field]))
        ? [{ loss, field, note: "Vexel does not have it" }]
        : [],
    );
  const regions = new Set(entries.map((entry) => String(entry.litellm_params.region_name ?? "")));
  const isTagged = entries.some(({ litellm_params: { tags, tag_regex } }) =>
    hasContent(tags ?? tag_regex),
  );
  return [
    ...has("litellm_params", ofParameters),
    ...has("model_info", ofInfo),
    ...(regions.size > 1
      ? [
          {
            loss: "regions",
            field: "region_name",
            note: `every request could go to any of ${[...regions].map((name) => name || "no region").join(", ")}`,
          } as const,
        ]
      : []),
    ...(isTagged && filtersTags(entries, source)
      ? [
          {
            loss: "deployment-tags",
            field: "tags",
            note: "every key could reach the entries of all tags",
          } as const,
        ]
      : []),
  ];
}

/** Without the filter, tags of an entry are only counted. */
const filtersTags = (
  entries: readonly LitellmModel[],
  { routerSettings, keys, teams }: LitellmSource,
): boolean =>
  [
    routerSettings,
    ...entries.map(({ model_info }) => model_info),
    ...[...keys, ...teams].map(({ router_settings }) => jsonOf(router_settings)),
  ].some(({ enable_tag_filtering }) => isTrue(enable_tag_filtering));

/** Parameters that LiteLLM keeps for itself, or that do not change a vector. It sends all others with every request. */
const keptParameters =
  /cost|timeout|retr|cooldown|fallback|pricing|^(?:aws|azure|vertex|oci|watsonx|langfuse|langsmith|arize|posthog|wandb|dd|newrelic|weave|signoz|s3|gcs)_|^(?:no-log|turn_off_message_logging|litellm_trace_id|litellm_request_debug|id|ttl|cache|caching|use_in_pass_through|merge_reasoning_content_in_choices|ssl_verify|configurable_clientside_auth_params|allowed_openai_params|drop_params|encoding_format|user|headers|metadata|rpm|tpm|max_parallel_requests|timeout|dimensions|weight|order|output_vector_size|data_residency)$/;

/** Whether LiteLLM adds a parameter to every request that may change the vectors, which was reported. */
export function changesVectors(params: Parameters, report: SubjectReport): boolean {
  const names = params.left.filter(
    (name) =>
      // LiteLLM stores switches that are off.
      hasContent(params.peek(name)) &&
      !keptParameters.test(name) &&
      !protectedParameters.includes(name),
  );
  const dropped = namesOf(params.peek("additional_drop_params")) ?? ["?"];
  const own = dropped.every((name) => name === "user" || name === "encoding_format")
    ? names.filter((name) => name !== "additional_drop_params")
    : names;
  if (own.length === 0) return false;
  report.refused(
    `LiteLLM adds ${own.join(", ")} to every request, which may change its vectors. Vexel does not: let clients send it, and remove it from the entry`,
  );
  return true;
}
