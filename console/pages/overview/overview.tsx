import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { AttentionItem, Overview } from "../../../contract/admin.ts";
import { call } from "../../api/client.ts";
import { useT } from "../../i18n/messages.ts";
import { count, dollars, milliseconds, percent } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import { Card } from "../../ui/card.tsx";
import { Page } from "../../ui/page.tsx";
import { QueryView } from "../../ui/states.tsx";

const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => call<Overview>("/overview", { signal }),
  refetchInterval: 5_000,
});

export function OverviewPage() {
  const t = useT();
  const query = useQuery(overviewQuery);
  return (
    <Page title={t("nav.overview")} description={t("overview.description")}>
      <QueryView query={query}>
        {(overview) => (
          <>
            <Attention items={overview.attention} />
            <Totals overview={overview} />
          </>
        )}
      </QueryView>
    </Page>
  );
}

/** What needs a person first. Nothing at all is also said. */
function Attention({ items }: { items: readonly AttentionItem[] }) {
  const t = useT();
  return (
    <Card title={t("overview.attention")}>
      {items.length === 0 ? (
        <p className="px-4 py-3 text-muted">{t("overview.attention.none")}</p>
      ) : (
        <ul>
          {items.map(({ type, severity, subject, detail, link }) => (
            <li
              key={`${type} ${subject}`}
              className="flex flex-wrap items-center gap-2 border-t border-line px-4 py-2.5 first:border-t-0"
            >
              <Badge tone={severity === "error" ? "bad" : "warn"}>{t(`attention.${type}`)}</Badge>
              <span className="font-medium">{subject}</span>
              <span className="min-w-0 basis-full text-muted sm:flex-1 sm:basis-0">{detail}</span>
              <Link to={link} className="text-accent underline">
                {t("overview.attention.open")}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Totals({ overview: { totals } }: { overview: Overview }) {
  const t = useT();
  const hitRate = totals.inputs === 0 ? null : totals.cached_inputs / totals.inputs;
  const errorRate = totals.requests === 0 ? null : totals.errors / totals.requests;
  const figures: readonly [string, string][] = [
    [t("figure.requests"), count(totals.requests)],
    [t("figure.errors"), percent(errorRate)],
    [t("figure.p50"), milliseconds(totals.latency_p50_ms)],
    [t("figure.p95"), milliseconds(totals.latency_p95_ms)],
    [t("figure.cost"), dollars(totals.cost)],
    [t("figure.tokens"), count(totals.input_tokens + totals.output_tokens)],
    [t("figure.images"), count(totals.images)],
    [t("figure.hitRate"), percent(hitRate)],
  ];
  return (
    <dl className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      {figures.map(([name, value]) => (
        <div key={name} className="rounded-lg border border-line bg-surface p-4">
          <dt className="text-xs text-muted">{name}</dt>
          <dd className="mt-1 text-xl font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
