/** The ledger row of one request. Values that it does not have, such as the images of an embedding, are left out. */
import type { RequestDetail } from "../../../../contract/admin.ts";
import { jobLineOf } from "../../../../contract/job-line-id.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import {
  EndUserLink,
  KeyLink,
  ModelLink,
  ProjectLink,
  UpstreamLink,
} from "../../ui/entity-links.tsx";
import { type FactRow, FactsCard } from "../../ui/facts.tsx";
import { Time } from "../../ui/time.tsx";
import { JobLine } from "./job-line.tsx";

const known = (value: number | null, format: (value: number) => string): string | null =>
  value === null ? null : format(value);

/** An estimate is a maximum. */
const estimateOf = ({ estimated_cost: cost }: RequestDetail, t: Translate): string | null =>
  cost === null || cost === 0 ? known(cost, dollars) : t("cost.upTo", { cost: dollars(cost) });

export function Facts({ request }: { request: RequestDetail }) {
  const t = useT();
  const rows: readonly FactRow[] = [
    [t("request.id"), <code className="font-mono text-xs break-all">{request.id}</code>],
    [t("column.time"), <Time iso={request.at} />],
    [
      t("requests.status"),
      <Badge tone={request.status < 400 ? "good" : "bad"}>
        {request.status} {request.error}
      </Badge>,
    ],
    [t("request.endpoint"), request.endpoint],
    [t("jobs.job"), jobLineOf(request.id) && <JobLine requestId={request.id} />],
    [
      t("requests.model"),
      request.model !== null && request.error !== "model_not_found" ? (
        <ModelLink id={request.model} />
      ) : (
        request.model
      ),
    ],
    [t("requests.upstream"), request.upstream && <UpstreamLink id={request.upstream} />],
    [t("request.targetModel"), request.target_model],
    [t("request.attempts"), request.attempts],
    [t("requests.latency"), milliseconds(request.latency_ms)],
    [t("requests.key"), <KeyLink id={request.key_id} name={request.key_name} />],
    [t("keys.project"), request.project && <ProjectLink id={request.project} />],
    [t("request.inputs"), known(request.inputs, count)],
    [t("request.cachedInputs"), known(request.cached_inputs, count)],
    [t("request.inputTokens"), count(request.input_tokens)],
    [t("request.upstreamTokens"), known(request.upstream_tokens, count)],
    [t("request.outputTokens"), known(request.output_tokens, count)],
    [t("figure.images"), known(request.images, count)],
    [t("figure.cost"), dollars(request.cost)],
    [t("request.estimatedCost"), estimateOf(request, t)],
    [t("requests.tag"), request.tags.join(", ") || null],
    [
      t("requests.endUser"),
      request.end_user && <EndUserLink id={request.end_user} project={request.project} />,
    ],
    [t("request.replica"), request.replica],
    [t("request.bytes"), `${count(request.bytes_in)} / ${count(request.bytes_out)}`],
  ];
  return <FactsCard rows={rows} />;
}
