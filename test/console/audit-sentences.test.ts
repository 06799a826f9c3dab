/** The audit log in sentences, in both languages. */
import { expect, test } from "bun:test";
import { auditSentences } from "../../console/src/features/audit/audit-sentences.ts";
import { auditText } from "../../console/src/features/audit/audit-text.ts";
import type { AuditEntry } from "../../contract/admin.ts";

const english = auditText("en");
const entry = (action: string, subject: string, before?: unknown, after?: unknown): AuditEntry => ({
  object: "audit_entry",
  id: "audit_1",
  at: "2026-01-01T00:00:00.000Z",
  actor: "Ada",
  action,
  subject,
  before: before ?? null,
  after: after ?? null,
  address: null,
});
const sentences = (...given: Parameters<typeof entry>) => auditSentences(entry(...given), english);

test("a changed budget is said with its amounts, in both languages", () => {
  const values = [{ budget: { month: 20, day: 5 } }, { budget: { month: 50 } }] as const;
  expect(sentences("project.updated", "studio", ...values)).toEqual([
    "changed the monthly budget of studio from $20 to $50",
    "removed the daily budget of studio, which was $5",
  ]);
  const chinese = auditSentences(entry("project.updated", "studio", ...values), auditText("zh"));
  expect(chinese[0]).toBe("将 studio 的每月预算从 $20 改为 $50");
});

test("limits, roles, models and limits of tags are said with their names", () => {
  const before = { limits: {}, role: "viewer", models: ["a"], perTag: { acme: {} } };
  const after = {
    limits: { requestsPerMinute: 60 },
    role: "lead",
    models: ["a", "b"],
    perTag: { acme: { budget: { day: 3 } } },
    version: 7,
  };
  expect(sentences("key.updated", "app", before, after)).toEqual([
    "set the requests per minute of app to 60",
    "changed the role of app from viewer to lead",
    "changed the models of app from a to a, b",
    "set limits of the tag acme: the daily budget of app to $3",
  ]);
});

test("secrets and long values are named and not shown", () => {
  const hidden = { apiKey: { $secret: true, lastFour: "1234" }, targets: [{ upstream: "a" }] };
  const shown = { apiKey: { $secret: true, lastFour: "5678" }, targets: [{ upstream: "b" }] };
  expect(sentences("upstream.updated", "openai", hidden, shown)).toEqual([
    "changed apiKey of openai",
    "changed the targets of openai",
  ]);
});

test("members, archives and keys of a user are said as what somebody did", () => {
  expect(sentences("project.members_updated", "studio", ["Max (viewer)"], ["Lena (lead)"])).toEqual(
    ["added Lena (lead) to the project studio", "removed Max (viewer) from the project studio"],
  );
  expect(sentences("project.updated", "studio", {}, { archived: true })).toEqual([
    "archived the project studio",
  ]);
  const moved = { keys: ["a", "b"], to: "Hera" };
  expect(sentences("user.keys_moved", "Lev", null, moved)).toEqual([
    "moved 2 API keys of Lev to Hera",
  ]);
  expect(sentences("key.created", "app", null, { name: "app" })).toEqual([
    "created the API key app",
  ]);
  expect(sentences("session.created", "Ada")).toEqual(["signed in"]);
  // A later version may write other actions.
  expect(sentences("planet.moved", "Mars")).toEqual(["planet.moved Mars"]);
});
