/** Names that lead to the page of what they name. For a user who may not open the page, they are texts. */
import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { canSomewhere } from "../../../contract/admin/roles.ts";
import { sessionQuery } from "../api/session.ts";
import { LongText } from "./long-text.tsx";

const style = "underline-offset-2 hover:text-accent hover:underline";

function useIsAdministrator(): boolean {
  const { data: session } = useSuspenseQuery(sessionQuery);
  return canSomewhere(session?.user, "administer");
}

interface NamedProps {
  readonly id: string;
  /** The default is the id. */
  readonly name?: string | null;
}

export const ProjectLink = ({ id, name }: NamedProps) => (
  <Link to="/projects/$id" params={{ id }} className={style}>
    <LongText text={name ?? id} />
  </Link>
);

export const ModelLink = ({ id }: { id: string }) => (
  <Link to="/model/$" params={{ _splat: id }} className={style}>
    <LongText text={id} />
  </Link>
);

/** Of an API key, or of a request in a playground, which has the id of its user instead. */
export function KeyLink({ id, name }: NamedProps) {
  if (id.startsWith("user_")) return <UserLink id={id} name={name ?? null} />;
  if (id === "admin-token") return <LongText text={name ?? id} />;
  return (
    <Link to="/keys/$id" params={{ id }} className={style}>
      <LongText text={name ?? id} />
    </Link>
  );
}

export function UserLink({ id, name }: NamedProps) {
  const text = <LongText text={name ?? id} />;
  if (!useIsAdministrator()) return text;
  return (
    <Link to="/users/$id" params={{ id }} className={style}>
      {text}
    </Link>
  );
}

export function UpstreamLink({ id, name }: NamedProps) {
  const text = <LongText text={name ?? id} />;
  if (!useIsAdministrator()) return text;
  return (
    <Link to="/upstreams/$id" params={{ id }} className={style}>
      {text}
    </Link>
  );
}

interface EndUserLinkProps {
  /** As the client sent it or as the ledger has it. */
  readonly id: string;
  /** Its budgets are those of the project. */
  readonly project: string | null;
}

export const EndUserLink = ({ id, project }: EndUserLinkProps) => (
  <Link
    to="/end-users/$"
    params={{ _splat: id }}
    search={project === null ? {} : { project }}
    className={style}
  >
    <LongText text={id} />
  </Link>
);
