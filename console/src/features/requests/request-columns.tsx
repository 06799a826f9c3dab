/** The columns of request lists. */
import { Link } from "@tanstack/react-router";
import type { ShownRequest } from "../../../../contract/admin.ts";
import { type Translate, useT } from "../../i18n/messages.ts";
import { dollars, milliseconds } from "../../lib/format.ts";
import { Badge } from "../../ui/badge.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

export const requestColumns = (t: Translate): readonly Column<ShownRequest>[] => [
  {
    key: "at",
    header: t("column.time"),
    cell: ({ at, id }) => (
      <Link
        to="/requests/$id"
        params={{ id }}
        className="whitespace-nowrap text-accent underline-offset-2 hover:underline"
      >
        <Time iso={at} />
      </Link>
    ),
  },
  {
    key: "status",
    header: t("requests.status"),
    cell: ({ status, error }) => (
      <Badge tone={status < 400 ? "good" : "bad"}>
        {status}
        {error !== null && ` ${error}`}
      </Badge>
    ),
  },
  {
    key: "model",
    header: t("requests.model"),
    cell: ({ model, endpoint }) => (
      <>
        <code className="font-mono text-xs">{model ?? "–"}</code>
        <p className="text-xs text-muted">{endpoint}</p>
      </>
    ),
  },
  {
    key: "key",
    header: t("requests.key"),
    cell: ({ key_name, key_id, project }) => (
      <>
        {key_name ?? key_id}
        {project !== null && <p className="text-xs text-muted">{project}</p>}
      </>
    ),
  },
  {
    key: "target",
    header: t("requests.target"),
    cell: (request) => <TargetCell request={request} />,
  },
  {
    key: "latency",
    header: t("requests.latency"),
    align: "right",
    cell: ({ latency_ms }) => milliseconds(latency_ms),
  },
  {
    key: "cost",
    header: t("figure.cost"),
    align: "right",
    cell: ({ cost }) => dollars(cost),
  },
];

/** The target, or why there was none. Some inputs of a request may be cached, and others not. */
function TargetCell({ request }: { request: ShownRequest }) {
  const t = useT();
  const { upstream, target_model, attempts, error, cached_inputs, inputs } = request;
  if (upstream === null) {
    if (error !== null) return "–";
    return (
      <Badge tone="good">
        {t(cached_inputs === null ? "requests.replayed" : "requests.cached")}
      </Badge>
    );
  }
  return (
    <>
      {upstream}
      {attempts > 1 && ` (${attempts})`}
      <p className="text-xs text-muted">{target_model}</p>
      {cached_inputs !== null && cached_inputs > 0 && (
        <p className="text-xs text-muted">
          {t("requests.partlyCached", { cached: cached_inputs, inputs: inputs ?? 0 })}
        </p>
      )}
    </>
  );
}
