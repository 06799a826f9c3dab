/** Long values of the audit log. */
import { expect, test } from "bun:test";
import { shortenAudited } from "../../server/admin/shorten-audited.ts";

test("the audit log has the count of a long list, and the entries that were added or removed", () => {
  const models = Array.from({ length: 1000 }, (_, at) => `model-${at}`);
  const before = { name: "app", models: [...models, "removed"] };
  const after = { name: "app", models: [...models, "added"] };
  expect(shortenAudited(before, after)).toEqual({
    name: "app",
    models: ["removed", "… (1001 entries)"],
  });
  expect(shortenAudited(after, before)).toEqual({
    name: "app",
    models: ["added", "… (1001 entries)"],
  });
  const created = shortenAudited(after, null) as typeof after;
  expect(created.models).toEqual([...models.slice(0, 20), "… (1001 entries)"]);
});

test("short values are recorded as they are, and long texts and maps are shortened", () => {
  const short = { list: [1, { a: null }], text: "x".repeat(500), isOn: true };
  expect(shortenAudited(short, undefined)).toEqual(short);
  expect(shortenAudited(null, short)).toBe(null);
  expect(shortenAudited([["x".repeat(501)]], undefined)).toEqual([
    [`${"x".repeat(500)}… (501 characters)`],
  ]);
  const members = Array.from({ length: 51 }, (_, at) => [`member ${at}`, at]);
  const map = shortenAudited(Object.fromEntries(members), undefined);
  expect(map).toEqual({ ...Object.fromEntries(members.slice(0, 50)), "…": "51 members" });
});
