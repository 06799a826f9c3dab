/** The columns of request lists. */
import { Link } from "@tanstack/react-router";
import type { ShownRequest } from "../../../../contract/admin.ts";
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
import { LongText } from "../../ui/long-text.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { ErrorName } from "./error-name.tsx";
import { JobLine } from "./job-line.tsx";
import { UpstreamMark } from "./upstream-mark.tsx";

export const requestColumns = (t: Translate): readonly Column<ShownRequest>[] => [
  {
    key: "at",
    header: t("column.time"),
    cell: ({ at, id }) => (
      <Link
        to="/requests/$id"
        params={{ id }}
        data-opens-row
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
      <>
        <Badge tone={status < 400 ? "good" : "bad"}>{status}</Badge>
        {error !== null && (
          <div className="text-xs text-muted">
            <ErrorName kind={error} />
          </div>
        )}
      </>
    ),
  },
  {
    key: "model",
    header: t("requests.model"),
    cell: ({ id, model, endpoint, error }) => (
      <>
        <code className="font-mono text-xs">
          {model === null || error === "model_not_found" ? (
            <LongText text={model ?? "–"} />
          ) : (
            <ModelLink id={model} />
          )}
        </code>
        <SmallText text={endpoint} />
        <div className="text-xs">
          <JobLine requestId={id} />
        </div>
      </>
    ),
  },
  {
    key: "key",
    header: t("requests.key"),
    cell: ({ key_name, key_id, project }) => (
      <>
        <KeyLink id={key_id} name={key_name} />
        {project !== null && (
          <div className="text-xs text-muted">
            <ProjectLink id={project} />
          </div>
        )}
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
  {
    key: "tokens",
    header: t("figure.tokens"),
    align: "right",
    cell: ({ input_tokens, output_tokens }) =>
      count(input_tokens === null ? null : input_tokens + (output_tokens ?? 0)),
  },
  {
    key: "images",
    header: t("figure.images"),
    align: "right",
    cell: ({ images }) => count(images),
  },
  {
    key: "end_user",
    header: t("requests.endUser"),
    cell: ({ end_user, project }) =>
      end_user === null ? "–" : <EndUserLink id={end_user} project={project} />,
  },
  {
    key: "tags",
    header: t("requests.tag"),
    cell: ({ tags }) => <LongText text={tags.join(", ") || "–"} />,
  },
];

/** The second line of a row. */
const SmallText = ({ text }: { text: string }) => (
  <div className="text-xs text-muted">
    <LongText text={text} />
  </div>
);

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
  const cached =
    cached_inputs !== null && cached_inputs > 0
      ? t("requests.partlyCached", { cached: cached_inputs, inputs: inputs ?? 0 })
      : null;
  return (
    <>
      <span className="flex items-center gap-1.5">
        <UpstreamMark upstream={upstream} />
        <UpstreamLink id={upstream} name={attempts > 1 ? `${upstream} (${attempts})` : upstream} />
      </span>
      <SmallText text={cached === null ? (target_model ?? "–") : `${target_model} · ${cached}`} />
    </>
  );
}
