/** What an audit entry changed: only the members that differ. */
import type { AuditEntry } from "../../../../contract/admin.ts";

export interface MemberChange {
  readonly member: string;
  readonly before: unknown;
  readonly after: unknown;
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

export function changedMembers(before: unknown, after: unknown): MemberChange[] {
  const [old, present] = [membersOf(before), membersOf(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(present)])]
    .filter((member) => JSON.stringify(old[member]) !== JSON.stringify(present[member]))
    .map((member) => ({ member, before: old[member], after: present[member] }));
}

const shown = (value: unknown): string => (value === undefined ? "–" : JSON.stringify(value));

export function Change({ entry: { before, after } }: { entry: AuditEntry }) {
  const changes = changedMembers(before, after);
  if (changes.length === 0) return "–";
  return (
    <ul className="flex max-w-md flex-col gap-0.5 font-mono text-xs">
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
