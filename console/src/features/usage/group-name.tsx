/** The name of a group of usage. It leads to the page of what it names, or else to its requests. */
import { Link } from "@tanstack/react-router";
import type { UsageDimension, UsageRow } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import {
  EndUserLink,
  KeyLink,
  ModelLink,
  ProjectLink,
  UpstreamLink,
} from "../../ui/entity-links.tsx";
import type { RequestsSearch } from "../requests/requests-search.ts";
import { isOther, valueLabel } from "./group-series.ts";

interface GroupNameProps {
  readonly row: Pick<UsageRow, "group" | "key_name">;
  readonly dimension: UsageDimension;
  /** Undefined if the list of requests has no filter for them. */
  readonly requests: RequestsSearch | undefined;
}

export function GroupName({ row, dimension, requests }: GroupNameProps) {
  const t = useT();
  const value = row.group[dimension] ?? null;
  const label = valueLabel(row, dimension, t);
  if (value === null || isOther(row)) return <span className="text-muted">{label}</span>;
  switch (dimension) {
    case "model":
      return <ModelLink id={value} />;
    case "key":
    case "user":
      return <KeyLink id={value} name={label} />;
    case "project":
      return <ProjectLink id={value} />;
    case "upstream":
      return <UpstreamLink id={value} />;
    case "end_user":
      return <EndUserLink id={value} project={row.group.project ?? requests?.project ?? null} />;
    default:
      return requests ? (
        <Link
          to="/requests"
          search={requests}
          className="break-all text-accent underline-offset-2 hover:underline"
        >
          {label}
        </Link>
      ) : (
        label
      );
  }
}
