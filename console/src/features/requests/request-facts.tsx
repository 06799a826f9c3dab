/** The ledger row of one request. Values that it does not have, such as the images of an embedding, are left out. */
import type { RequestDetail } from "../../../../contract/admin.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { ProjectLink } from "../../ui/project-link.tsx";
import { Time } from "../../ui/time.tsx";

const known = (value: number | null, format: (value: number) => string): string | null =>
  value === null ? null : format(value);

/** An estimate is a maximum. */
const estimateOf = ({ estimated_cost: cost }: RequestDetail, t: Translate): string | null =>
  cost === null || cost === 0 ? known(cost, dollars) : t("cost.upTo", { cost: dollars(cost) });

export function Facts({ request }: { request: RequestDetail }) {
  const t = useT();
  const rows: readonly [string, React.ReactNode][] = [
    [t("request.id"), <code className="font-mono text-xs break-all">{request.id}</code>],
    [t("column.time"), <Time iso={request.at} />],
    [
      t("requests.status"),
      <Badge tone={request.status < 400 ? "good" : "bad"}>
        {request.status} {request.error}
      </Badge>,
    ],
    [t("request.endpoint"), request.endpoint],
    [t("requests.model"), request.model],
    [t("requests.upstream"), request.upstream],
    [t("request.targetModel"), request.target_model],
    [t("request.attempts"), request.attempts],
    [t("requests.latency"), milliseconds(request.latency_ms)],
    [t("requests.key"), request.key_name ?? request.key_id],
    [t("keys.project"), request.project && <ProjectLink project={request.project} />],
    [t("request.inputs"), known(request.inputs, count)],
    [t("request.cachedInputs"), known(request.cached_inputs, count)],
    [t("request.inputTokens"), count(request.input_tokens)],
    [t("request.upstreamTokens"), known(request.upstream_tokens, count)],
    [t("request.outputTokens"), known(request.output_tokens, count)],
    [t("figure.images"), known(request.images, count)],
    [t("figure.cost"), dollars(request.cost)],
    [t("request.estimatedCost"), estimateOf(request, t)],
    [t("requests.tag"), request.tags.join(", ") || null],
    [t("requests.endUser"), request.end_user],
    [t("request.replica"), request.replica],
    [t("request.bytes"), `${count(request.bytes_in)} / ${count(request.bytes_out)}`],
  ];
  return (
    <Card>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-2 p-4 lg:grid-cols-3">
        {rows
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <div key={name} className="min-w-0">
              <dt className="text-xs text-muted">{name}</dt>
              <dd className="break-words">{value}</dd>
            </div>
          ))}
      </dl>
    </Card>
  );
}
