/** The data of an event, as names and values. What has a page is a link to it. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { KeyLink, ModelLink, ProjectLink, UpstreamLink } from "../../ui/entity-links.tsx";

type Data = Readonly<Record<string, unknown>>;

interface EventFactsProps {
  readonly type: string;
  readonly data: Data;
}

export const EventFacts = ({ type, data }: EventFactsProps) => (
  <dl className="flex flex-wrap gap-x-4 gap-y-0.5 text-xs">
    {Object.entries(data)
      .filter(([name, value]) => value !== null && value !== "" && !isInLink(type, data, name))
      .map(([name, value]) => (
        <div key={name} className="flex min-w-0 gap-1.5">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">
            {typeof value === "string" ? linked(type, data, name) : textOf(value)}
          </dd>
        </div>
      ))}
  </dl>
);

const isOfKey = (type: string, { scope }: Data): boolean =>
  type.startsWith("key.") || scope === "key";

/** The id of a key leads to its page under the name. A project or a tag has the same id and name. */
const isInLink = (type: string, data: Data, name: string): boolean =>
  name === "id" && (isOfKey(type, data) || data.id === data.name);

function linked(type: string, data: Data, name: string): ReactNode {
  const text = String(data[name]);
  if (name === "project") return <ProjectLink id={text} />;
  if (name === "upstream") return <UpstreamLink id={text} />;
  if (name === "model") return <ModelLink id={text} />;
  if (name === "name" && isOfKey(type, data)) return <KeyLink id={String(data.id)} name={text} />;
  if (name === "name" && data.scope === "project") return <ProjectLink id={text} />;
  if (name === "name" && type.startsWith("alert."))
    return (
      <Link to="/alerts" className="underline-offset-2 hover:text-accent hover:underline">
        {text}
      </Link>
    );
  return text;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
