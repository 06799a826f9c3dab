/** An audit entry as sentences after the name of the user, such as `changed the monthly budget of studio from $20 to $50`. */
import type { AuditEntry } from "../../../../contract/admin.ts";
import { shortDollars } from "../../lib/format.ts";
import { type AuditText, isAuditKey } from "./audit-text.ts";

type Members = Readonly<Record<string, unknown>>;

/** They follow from others, or change with every change. */
const derived = new Set([
  "object",
  "id",
  "version",
  "hint",
  "origin",
  "state",
  "created_at",
  "created_by",
  "created_by_id",
  "updated_at",
  "locked",
  "revoked_at",
  "last_sign_in_at",
  "invite_expires_at",
]);
const maxSentences = 6;
const maxValueLength = 80;

export const auditSentences = (entry: AuditEntry, t: AuditText): readonly string[] =>
  sentencesOf(entry, t).map((sentence) => sentence.replaceAll(spaceInChinese, ""));

/** A Chinese text has a space beside a name, and none beside a Chinese word that stands for it. */
const spaceInChinese = /(?<=\p{Script=Han}) (?=\p{Script=Han})/gu;

function sentencesOf(entry: AuditEntry, t: AuditText): readonly string[] {
  const { action, after } = entry;
  const subject = entry.subject ?? "";
  const [kind = "", verb = ""] = action.split(".");
  const noun = nounOf(kind, t);
  const key = `audit.did.${action.replace(".", "-")}`;
  if (action === "project.members_updated") return memberSentences(entry, t);
  if (isAuditKey(key)) return [t(key, { ...namedIn(after), subject })];
  if (verb === "updated") {
    const sentences = changeSentences(entry, t);
    if (sentences.length > 0) return sentences;
  }
  if (verb === "created" || verb === "deleted" || verb === "updated")
    return [t(`audit.did.${verb}`, { noun, subject })];
  return [t("audit.did.other", { action, subject })];
}

function nounOf(kind: string, t: AuditText): string {
  const key = `audit.noun.${kind}`;
  return isAuditKey(key) ? t(key) : kind;
}

/** What the sentences of several keys at once, and of silences, name. */
function namedIn(after: unknown): Readonly<Record<string, string | number>> {
  const { count, keys, to, until, reason } = membersOf(after);
  const listed = Array.isArray(keys) ? keys.length : 0;
  return {
    count: typeof count === "number" ? count : listed,
    to: String(to ?? ""),
    until: utcMinute(String(until ?? "")),
    reason: String(reason ?? ""),
  };
}

/** Such as `2026-11-19 14:20 UTC`. */
const utcMinute = (iso: string): string => `${iso.slice(0, 16).replace("T", " ")} UTC`;

const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

function memberSentences({ before, after, subject }: AuditEntry, t: AuditText): readonly string[] {
  const [old, present] = [before, after].map((value) =>
    Array.isArray(value) ? value.map(String) : [],
  ) as [string[], string[]];
  const namesOf = (names: readonly string[]) => ({
    names: names.join(", "),
    subject: subject ?? "",
  });
  const added = present.filter((name) => !old.includes(name));
  const removed = old.filter((name) => !present.includes(name));
  return [
    ...(added.length > 0 ? [t("audit.did.members-added", namesOf(added))] : []),
    ...(removed.length > 0 ? [t("audit.did.members-removed", namesOf(removed))] : []),
  ];
}

interface Change {
  readonly path: readonly string[];
  readonly before: unknown;
  readonly after: unknown;
}

/** The members that differ, those of objects one by one. */
export function changesOf(before: unknown, after: unknown, path: readonly string[] = []): Change[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const isLeaf = [before, after].some(
    (value) => Array.isArray(value) || (typeof value !== "object" && value !== undefined),
  );
  if (path.length > 0 && (isLeaf || "$secret" in membersOf(after)))
    return [{ path, before, after }];
  const [old, present] = [membersOf(before), membersOf(after)];
  return [...new Set([...Object.keys(old), ...Object.keys(present)])]
    .filter((name) => path.length > 0 || !derived.has(name))
    .flatMap((name) => changesOf(old[name], present[name], [...path, name]));
}

function changeSentences(entry: AuditEntry, t: AuditText): readonly string[] {
  const subject = entry.subject ?? "";
  return changesOf(entry.before, entry.after)
    .slice(0, maxSentences)
    .map(({ path, before, after }) => {
      if (path.join(".") === "archived")
        return t(after === true ? "audit.did.project-archived" : "audit.did.project-restored", {
          subject,
        });
      const field = fieldText(path, t);
      const [old, present] = [valueText(path, before, t), valueText(path, after, t)];
      if (old === undefined || present === undefined)
        return t("audit.did.changedDetails", { field, subject });
      if (old === "") return t("audit.did.set", { field, subject, after: present });
      if (present === "") return t("audit.did.removed", { field, subject, before: old });
      return t("audit.did.changed", { field, subject, before: old, after: present });
    });
}

/** A member without a name in words is shown as it is spelled. */
function fieldText(path: readonly string[], t: AuditText): string {
  const [first = "", ...rest] = path;
  if (first === "perEndUser" && rest.length > 0)
    return t("audit.field.perEndUser", { field: fieldText(rest, t) });
  if (first === "perTag" && rest.length > 1) {
    const [tag = "", ...own] = rest;
    return t("audit.field.perTag", { tag, field: fieldText(own, t) });
  }
  const key = `audit.field.${path.join("-")}`;
  return isAuditKey(key) ? t(key) : path.join(".");
}

/** Undefined: it is too long for a sentence. Empty: there is none. */
function valueText(path: readonly string[], value: unknown, t: AuditText): string | undefined {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return t(value ? "audit.value.on" : "audit.value.off");
  if (typeof value === "number")
    return path.includes("budget") ? shortDollars(value) : String(value);
  const isTextList = Array.isArray(value) && value.every((each) => typeof each === "string");
  const text = isTextList ? value.join(", ") : undefined;
  const shown = typeof value === "string" ? value : text;
  return shown !== undefined && shown.length <= maxValueLength ? shown : undefined;
}
