import type { ModelTarget } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { milliseconds, percent } from "../../lib/format.ts";
import { UpstreamLink } from "../../ui/entity-links.tsx";
import { KindMark } from "../../ui/kind-mark.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { TargetState } from "./target-state.tsx";

/** Since the gateway started. */
function errorRate({ counts: { responses = 0, failed = 0 } }: ModelTarget): number | null {
  return responses + failed === 0 ? null : failed / (responses + failed);
}

/** The live health of targets. */
export function TargetTable({ targets }: { targets: readonly ModelTarget[] }) {
  const t = useT();
  return (
    <Table
      label={t("models.targets")}
      rows={targets}
      rowKey={({ upstream, model, surface }) => `${upstream} ${model} ${surface}`}
      columns={[
        {
          key: "target",
          header: t("target.name"),
          sortBy: ({ upstream, model }) => `${upstream} ${model}`,
          cell: ({ upstream, upstream_kind, model }) => (
            <span className="flex flex-wrap items-center gap-1.5">
              <KindMark kind={upstream_kind} />
              <UpstreamLink id={upstream} />{" "}
              <code className="font-mono text-xs text-muted">{model}</code>
            </span>
          ),
        },
        {
          key: "state",
          header: t("keys.state"),
          cell: (target) => <TargetState target={target} />,
        },
        { key: "until", header: t("target.until"), cell: ({ until }) => <Time iso={until} /> },
        {
          key: "inFlight",
          header: t("target.inFlight"),
          sortBy: ({ in_flight }) => in_flight,
          align: "right",
          cell: ({ in_flight, limit }) => `${in_flight} / ${limit}`,
        },
        {
          key: "errors",
          header: t("figure.errors"),
          sortBy: errorRate,
          align: "right",
          cell: (target) => percent(errorRate(target)),
        },
        {
          key: "p95",
          header: t("figure.p95"),
          sortBy: ({ latency }) => latency[0]?.p95_ms ?? null,
          align: "right",
          cell: ({ latency }) => milliseconds(latency[0]?.p95_ms ?? null),
        },
      ]}
    />
  );
}
