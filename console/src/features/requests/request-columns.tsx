/** The columns of request lists. */
import { Link } from "@tanstack/react-router";
import type { ShownRequest } from "../../../../contract/admin.ts";
import type { Translate } from "../../i18n/messages.ts";
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
    cell: ({ upstream, target_model, attempts }) =>
      upstream === null ? (
        "–"
      ) : (
        <>
          {upstream}
          {attempts > 1 && ` (${attempts})`}
          <p className="text-xs text-muted">{target_model}</p>
        </>
      ),
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
