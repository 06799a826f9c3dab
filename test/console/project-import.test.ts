/** Projects and members from CSV: what each line changes, before anything is sent. */
import { expect, test } from "bun:test";
import { planImport } from "../../console/src/features/project-import/plan-import.ts";
import {
  exampleFile,
  maxLines,
  readProjectLines,
} from "../../console/src/features/project-import/read-project-lines.ts";
import type { ProjectEntity, ProjectValue, User } from "../../contract/admin.ts";

const head = "name,contact,monthly_budget,requests_per_minute,members";

const projectOf = (id: string, value: ProjectValue, isFixed = false): ProjectEntity => ({
  object: "project",
  id,
  origin: { source: isFixed ? "yaml" : "store", location: isFixed ? "vexel.yaml line 9" : null },
  read_only: isFixed,
  version: isFixed ? null : 1,
  created_at: null,
  updated_at: null,
  problem: null,
  value,
  keys: 0,
  members: [],
});

const userOf = (name: string, changes: Partial<User> = {}): User => ({
  object: "user",
  id: `user_${name}`,
  name,
  role: "viewer",
  projects: [],
  project_roles: {},
  sign_in: "password",
  status: "active",
  must_change_password: false,
  two_factor: false,
  invite_expires_at: null,
  created_at: "2026-01-01T00:00:00.000Z",
  last_sign_in_at: null,
  ...changes,
});

const present = {
  projects: [
    projectOf("studio", { budget: { month: 5, day: 1 }, limits: { concurrent: 3 } }),
    projectOf("fixed", { limits: { requestsPerMinute: 9 } }, true),
  ],
  users: [
    userOf("ada", { projects: ["studio"], project_roles: { studio: "lead" } }),
    userOf("root", { role: "admin", projects: "all" }),
    userOf("sam"),
  ],
};

function planned(...rows: readonly string[]) {
  const lines = readProjectLines([head, ...rows].join("\r\n"));
  if ("problem" in lines) throw new Error(JSON.stringify(lines.problem));
  return planImport(lines, present);
}
const problems = (...rows: readonly string[]) =>
  planned(...rows).map((each) => (each.kind === "refused" ? each.problem : undefined));

test("a line creates a project, or changes only what it has a value for", () => {
  const [created, changed, unchanged] = planned(
    "search,lead@example.com,50,600,",
    "studio,,20,,",
    "fixed,,,9,",
  );
  expect(created).toMatchObject({
    kind: "created",
    value: {
      contact: "lead@example.com",
      budget: { month: 50 },
      limits: { requestsPerMinute: 600 },
    },
  });
  expect(changed).toMatchObject({
    kind: "changed",
    value: { budget: { month: 20, day: 1 }, limits: { concurrent: 3 } },
  });
  expect(unchanged).toMatchObject({ kind: "unchanged", line: { line: 4 } });
});

test("members get a role or keep theirs, and an email address without a user becomes one, once", () => {
  const [studio, other] = planned(
    "studio,,,,Ada:lead; SAM:developer; new@example.com:billing",
    "other,,,,ada; new@example.com",
  );
  expect(studio).toMatchObject({
    kind: "changed",
    value: undefined,
    members: [
      { name: "SAM", role: "developer", isNew: false },
      { name: "new@example.com", role: "billing", isNew: true },
    ],
  });
  expect(other).toMatchObject({
    members: [
      { name: "ada", role: undefined, isNew: false },
      { name: "new@example.com", isNew: false },
    ],
  });
  // The members of a project of the file can be changed.
  expect(planned("fixed,,,,sam:lead")).toMatchObject([{ kind: "changed", value: undefined }]);
});

test("every line that is not valid is kept with its number and the reason", () => {
  const rows = [
    ",,5,,",
    "a,someone,,,",
    "b,,$5,,",
    "c,,,1.5,",
    "d,,1,000,",
    "e,,,,sam:owner",
    "f,,,,nobody:lead",
    "g,,,,root:lead",
    "fixed,,7,,",
    "h,,1,2,sam,more",
    "i,,1,,",
    "",
    "i,,2,,",
  ];
  expect(problems(...rows)).toMatchObject([
    { kind: "column", column: "name", value: "" },
    { kind: "column", column: "contact", value: "someone" },
    { kind: "column", column: "monthly_budget", value: "$5" },
    { kind: "column", column: "requests_per_minute", value: "1.5" },
    { kind: "column", column: "requests_per_minute", value: "000" },
    { kind: "role", value: "owner" },
    { kind: "noUser", value: "nobody" },
    { kind: "allProjects", value: "root" },
    { kind: "readOnly", location: "vexel.yaml line 9" },
    { kind: "cells", count: 6, columns: 5 },
    undefined,
    { kind: "repeated", line: 12 },
  ] as unknown as undefined[]);
  expect(planned(...rows).map(({ line }) => line.line)).toEqual([
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14,
  ]);
});

test("a file without the columns, with a bad quote, or with too many lines is refused as a whole", () => {
  expect(readProjectLines("project;budget\na;5")).toMatchObject({ problem: { kind: "columns" } });
  expect(readProjectLines("name,name\na,b")).toMatchObject({ problem: { kind: "columns" } });
  expect(readProjectLines("name,other\na,b")).toMatchObject({ problem: { kind: "columns" } });
  expect(readProjectLines('name\na\n"b')).toEqual({ problem: { kind: "csv", line: 3 } });
  expect(readProjectLines("name\n\n")).toEqual({ problem: { kind: "empty" } });
  const long = ["name", ...Array.from({ length: maxLines + 1 }, (_, at) => `p${at}`)].join("\n");
  expect(readProjectLines(long)).toEqual({ problem: { kind: "lines", count: maxLines + 1 } });
  expect(readProjectLines(long.slice(0, long.lastIndexOf("\n")))).toHaveLength(maxLines);
});

test("columns have any order, and a quoted value has commas and line breaks", () => {
  const lines = readProjectLines('Members, NAME\n"sam:lead;\nada","a, b"\nx,y\n');
  expect(lines).toMatchObject([
    { line: 2, name: "a, b", members: [{ name: "sam", role: "lead" }, { name: "ada" }] },
    { line: 4, name: "y" },
  ]);
});

test("the example that the console offers is the one of the docs, and every line of it is valid", async () => {
  const docs = await Bun.file(new URL("../../docs/console.md", import.meta.url)).text();
  expect(docs).toContain(exampleFile);
  const lines = readProjectLines(exampleFile);
  if ("problem" in lines) throw new Error("it is not valid");
  expect(lines).toHaveLength(3);
  expect(planImport(lines, { projects: [], users: [] }).map(({ kind }) => kind)).toEqual([
    "created",
    "created",
    "created",
  ]);
});
