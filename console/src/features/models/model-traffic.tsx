/** The requests for a model in the last seven days. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { UsagePage } from "../../../../contract/admin.ts";
import { call, pathWithQuery } from "../../api/client.ts";
import { errorRate, refusedShare } from "../../api/outcomes.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds, percent } from "../../lib/format.ts";
import { Card } from "../../ui/card.tsx";
import { Empty, QueryView } from "../../ui/states.tsx";

const trafficQuery = (model: string) =>
  queryOptions({
    queryKey: ["usage", "of-model", model],
    queryFn: ({ signal }) =>
      call<UsagePage>(pathWithQuery("/usage", { model, interval: "total" }), { signal }),
    refetchInterval: 10_000,
  });

export function ModelTraffic({ model, isImage }: { model: string; isImage: boolean }) {
  const t = useT();
  const query = useQuery(trafficQuery(model));
  return (
    <Card
      title={t("model.traffic")}
      actions={
        <Link
          to="/requests"
          search={{ model }}
          className="text-accent underline-offset-2 hover:underline"
        >
          {t("model.traffic.requests")}
        </Link>
      }
    >
      <QueryView query={query}>
        {({ data: [sums] }) => {
          if (!sums) return <Empty title={t("usage.none")} />;
          const figures: readonly [string, string][] = [
            [t("figure.requests"), count(sums.requests)],
            [t("figure.errors"), percent(errorRate(sums))],
            [t("figure.refused"), percent(refusedShare(sums))],
            [t("figure.p95"), milliseconds(sums.latency_p95_ms)],
            isImage
              ? [t("figure.images"), count(sums.images)]
              : [t("figure.tokens"), count(sums.input_tokens)],
            [t("figure.cost"), dollars(sums.charged)],
          ];
          return (
            <dl className="grid grid-cols-2 gap-x-6 gap-y-2 p-4 sm:grid-cols-6">
              {figures.map(([name, value]) => (
                <div key={name}>
                  <dt className="text-xs text-muted">{name}</dt>
                  <dd className="text-lg font-semibold tabular-nums">{value}</dd>
                </div>
              ))}
            </dl>
          );
        }}
      </QueryView>
    </Card>
  );
}
