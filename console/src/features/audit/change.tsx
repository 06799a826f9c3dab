/** What an audit entry changed: only the members that differ. */
import type { AuditEntry } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";

/** More are folded. */
const maxShown = 3;

interface MemberChange {
  readonly member: string;
  readonly before: unknown;
  readonly after: unknown;
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

function changedMembers(before: unknown, after: unknown): MemberChange[] {
  const [old, present] = [membersOf(before), membersOf(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(present)])]
    .filter((member) => JSON.stringify(old[member]) !== JSON.stringify(present[member]))
    .map((member) => ({ member, before: old[member], after: present[member] }));
}

const shown = (value: unknown): string => (value === undefined ? "–" : JSON.stringify(value));

export function Change({ entry }: { entry: AuditEntry }) {
  const t = useT();
  const changes = changedMembers(entry.before, entry.after);
  if (changes.length === 0) return "–";
  const folded = changes.slice(maxShown);
  return (
    <div className="flex max-w-md flex-col gap-0.5 text-xs">
      <Members changes={changes.slice(0, maxShown)} entry={entry} />
      {folded.length > 0 && (
        <details>
          <summary className="cursor-pointer text-muted">
            {t("overview.attention.more", { count: folded.length })}
          </summary>
          <Members changes={folded} entry={entry} />
        </details>
      )}
    </div>
  );
}

interface MembersProps {
  readonly changes: readonly MemberChange[];
  readonly entry: AuditEntry;
}

function Members({ changes, entry: { before, after } }: MembersProps) {
  return (
    <ul className="flex flex-col gap-0.5 font-mono">
      {changes.map((change) => (
        <li key={change.member} className="break-all">
          {change.member}:{" "}
          {before !== null && <del className="text-bad">{shown(change.before)}</del>}{" "}
          {after !== null && <ins className="text-good no-underline">{shown(change.after)}</ins>}
        </li>
      ))}
    </ul>
  );
}
