/** A sentence of the audit log, with its subject as a link to the page of what was changed. */
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { AuditEntry, User } from "../../../../contract/admin.ts";
import { auditSentences } from "./audit-sentences.ts";
import type { AuditText } from "./audit-text.ts";

/** Stands for the subject while the sentence is made: an invisible separator, which no name has. */
const mark = "\u2063";

interface SentencesProps {
  readonly entry: AuditEntry;
  readonly t: AuditText;
  readonly users: readonly User[];
}

export const AuditSentences = ({ entry, t, users }: SentencesProps) =>
  auditSentences({ ...entry, subject: entry.subject === null ? null : mark }, t).map((sentence) => (
    <p key={sentence} className="break-words">
      {sentence.split(mark).map((part, at) => (
        <Fragment key={at}>
          {at > 0 && <Subject entry={entry} users={users} />}
          {part}
        </Fragment>
      ))}
    </p>
  ));

type Subjects = Pick<SentencesProps, "entry" | "users">;

function Subject({ entry, users }: Subjects) {
  const { action, subject } = entry;
  const [kind = "", verb = ""] = action.split(".");
  const name = subject ?? "";
  const id = verb === "deleted" ? undefined : idOf(kind, { entry, users });
  if (id === undefined) return name;
  const link = { className: "font-medium underline-offset-2 hover:text-accent hover:underline" };
  switch (kind) {
    case "project":
      return <Link {...link} to="/projects/$id" params={{ id }} children={name} />;
    case "key":
      return <Link {...link} to="/keys/$id" params={{ id }} children={name} />;
    case "user":
      return <Link {...link} to="/users/$id" params={{ id }} children={name} />;
    case "model":
      return <Link {...link} to="/model/$" params={{ _splat: id }} children={name} />;
    case "upstream":
      return <Link {...link} to="/upstreams/$id" params={{ id }} children={name} />;
    case "job":
      return <Link {...link} to="/jobs/$id" params={{ id }} children={name} />;
    case "request":
      return <Link {...link} to="/requests/$id" params={{ id }} children={name} />;
    case "alert":
      return <Link {...link} to="/alerts" children={name} />;
    case "webhook":
      return <Link {...link} to="/webhooks" children={name} />;
    default:
      return name;
  }
}

/** Entries of keys and users name them. Undefined: it is not known, as of a deleted user. */
function idOf(kind: string, { entry, users }: Subjects): string | undefined {
  const { subject, before, after } = entry;
  if (kind === "user") return users.find(({ name }) => name === subject)?.id;
  if (kind !== "key") return subject ?? undefined;
  const { id } = { ...membersOf(before), ...membersOf(after) };
  return typeof id === "string" ? id : undefined;
}

const membersOf = (value: unknown): { readonly id?: unknown } =>
  typeof value === "object" && value !== null ? value : {};
