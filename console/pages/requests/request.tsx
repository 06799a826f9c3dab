/** One request: what happened, in order, and why. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import type { ShownRequest } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";
import { Time } from "../../ui/time.tsx";

const requestQuery = (id: string) =>
  queryOptions({
    queryKey: ["request", id],
    queryFn: ({ signal }) => call<ShownRequest>(`/requests/${encodeURIComponent(id)}`, { signal }),
  });

export function RequestPage() {
  const t = useT();
  const { id } = useParams({ from: "/signed-in/requests/$id" });
  const query = useQuery(requestQuery(id));
  return (
    <Page title={t("request.title")} actions={<CopyButton text={id} label={t("request.copyId")} />}>
      <QueryView query={query}>
        {(request) => (
          <>
            <Facts request={request} />
            <Steps steps={request.steps} />
          </>
        )}
      </QueryView>
    </Page>
  );
}

function Facts({ request }: { request: ShownRequest }) {
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
    [t("requests.model"), request.model ?? "–"],
    [t("requests.upstream"), request.upstream ?? "–"],
    [t("request.targetModel"), request.target_model ?? "–"],
    [t("request.attempts"), request.attempts],
    [t("requests.latency"), milliseconds(request.latency_ms)],
    [t("requests.key"), request.key_name ?? request.key_id],
    [t("keys.project"), request.project ?? "–"],
    [t("request.inputTokens"), count(request.input_tokens)],
    [t("request.outputTokens"), count(request.output_tokens)],
    [t("figure.images"), count(request.images)],
    [t("request.cachedInputs"), count(request.cached_inputs)],
    [t("figure.cost"), dollars(request.cost)],
    [t("request.estimatedCost"), dollars(request.estimated_cost)],
    [t("request.bytes"), `${count(request.bytes_in)} / ${count(request.bytes_out)}`],
  ];
  return (
    <Card>
      <dl className="grid gap-x-6 gap-y-2 p-4 sm:grid-cols-2 lg:grid-cols-3">
        {rows.map(([name, value]) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-muted">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function Steps({ steps }: { steps: readonly string[] }) {
  const t = useT();
  return (
    <Card title={t("request.steps")}>
      {steps.length === 0 ? (
        <p className="px-4 py-3 text-muted">{t("request.steps.none")}</p>
      ) : (
        <ol className="flex flex-col gap-2 p-4">
          {steps.map((step, at) => (
            <li key={`${at} ${step}`} className="flex gap-3">
              <span className="mt-1.5 size-2 shrink-0 rounded-full bg-accent" aria-hidden="true" />
              {step}
            </li>
          ))}
        </ol>
      )}
    </Card>
  );
}
