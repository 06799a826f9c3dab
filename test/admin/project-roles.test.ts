/** Roles in single projects: the lead of a team manages its members, and the role billing changes its budgets. */
import { afterAll, expect, test } from "bun:test";
import type { AuditEntry, Page, ProjectEntity, User } from "../../contract/admin.ts";
import { startEntityGateway } from "./entities-fixture.ts";

const adminToken = "admin-0123456789abcdef";
const password = "correct horse battery";
const gateway = await startEntityGateway({
  yaml: "",
  settings: { VEXEL_ADMIN_TOKEN: adminToken },
});
afterAll(() => gateway.close());

type Body = Readonly<Record<string, unknown>>;
const api = `${gateway.url}/admin/api`;

async function send<Result>(
  headers: Readonly<Record<string, string>>,
  method: string,
  path: string,
  body?: Body,
) {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, json: (text === "" ? {} : JSON.parse(text)) as Result };
}

const admin = <Result = User>(method: string, path: string, body?: Body) =>
  send<Result>({ authorization: `Bearer ${adminToken}` }, method, path, body);

async function signIn(user: Body) {
  const created = await admin("POST", "/users", { password, ...user });
  expect(created.status).toBe(201);
  const response = await fetch(`${api}/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: user.name, password }),
  });
  const { csrf_token } = (await response.json()) as { csrf_token: string };
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  return <Result>(method: string, path: string, body?: Body) =>
    send<Result>({ cookie, "x-csrf-token": csrf_token }, method, path, body);
}

for (const name of ["search", "studio"]) await admin("POST", "/projects", { name });
const lead = await signIn({
  name: "Lena",
  role: "viewer",
  projects: ["search", "studio"],
  project_roles: { search: "lead" },
});
await admin("POST", "/users", { password, name: "Max", role: "viewer", projects: ["studio"] });
await admin("POST", "/users", { password, name: "Bo", role: "billing", projects: [] });
await admin("POST", "/users", { password, name: "Ada", role: "admin" });

const userNamed = async (name: string) =>
  (await admin<Page<User>>("GET", "/users")).json.data.find((user) => user.name === name)!;

test("a lead adds, changes and removes the members of the own project by name", async () => {
  const put = (role: string | null, name = "max") =>
    lead<ProjectEntity>("PUT", `/projects/search/members/${name}`, { role });
  const added = await put(null);
  expect(added.json.members.map(({ name, role }) => [name, role])).toEqual([
    ["Lena", "lead"],
    ["Max", "viewer"],
  ]);
  await put("developer");
  expect(await userNamed("Max")).toMatchObject({
    role: "viewer",
    projects: ["studio", "search"],
    project_roles: { search: "developer" },
  });
  const { json: log } = await admin<Page<AuditEntry>>(
    "GET",
    "/audit?action=project.members_updated&limit=1",
  );
  expect(log.data[0]).toMatchObject({
    actor: "Lena",
    subject: "search",
    before: ["Max (viewer)"],
    after: ["Max (developer)"],
  });
  expect((await lead("DELETE", "/projects/search/members/Max")).status).toBe(200);
  // A user who returns does not have the former role.
  await put(null);
  expect(await userNamed("Max")).toMatchObject({ project_roles: {} });
  // The list shows the members of the projects that the user leads.
  const { json } = await lead<Page<ProjectEntity>>("GET", "/projects");
  expect(json.data.map(({ id, members }) => [id, members.length])).toEqual([
    ["search", 2],
    ["studio", 0],
  ]);
});

test("a lead gives and takes no role that may do more, and adds nobody who sees all projects", async () => {
  const put = (name: string, role: string | null) =>
    lead("PUT", `/projects/search/members/${name}`, { role });
  expect((await put("Max", "billing")).status).toBe(403);
  expect((await put("Max", "admin")).status).toBe(400);
  expect((await put("Bo", null)).status).toBe(403);
  expect((await put("Bo", "viewer")).status).toBe(200);
  expect((await put("Ada", "viewer")).status).toBe(400);
  expect((await put("Nobody", null)).status).toBe(404);
  await admin("PUT", "/projects/search/members/Bo", { role: "billing" });
  expect((await lead("DELETE", "/projects/search/members/Bo")).status).toBe(403);
  expect((await put("Bo", "viewer")).status).toBe(403);
  expect((await lead("PUT", "/projects/search/budgets", {})).status).toBe(403);
  expect((await lead("PUT", "/projects/search", { budget: { month: 1 } })).status).toBe(403);
});

test("a role in a project needs the project, and ends with it", async () => {
  const max = await userNamed("Max");
  const patch = (body: Body) => admin("PATCH", `/users/${max.id}`, body);
  expect((await patch({ projects: ["studio"], project_roles: { search: "lead" } })).status).toBe(
    400,
  );
  expect((await patch({ project_roles: { studio: "admin" } })).status).toBe(400);
  expect((await patch({ projects: ["studio"], project_roles: { studio: "lead" } })).status).toBe(
    200,
  );
  expect((await patch({ name: "Maxi" })).json.project_roles).toEqual({ studio: "lead" });
  expect((await patch({ projects: [] })).json.project_roles).toEqual({});
  await patch({ name: "Max" });
});

test("the role billing changes budgets of a project, and no limit", async () => {
  const value = {
    limits: { requestsPerMinute: 60 },
    budget: { month: 20 },
    perEndUser: { limits: { concurrent: 2 } },
    perTag: {
      "env:*": { limits: { concurrent: 3 }, budget: { day: 1 } },
      old: { budget: { day: 2 } },
    },
  };
  await admin("POST", "/projects", { name: "paid", ...value });
  const billing = await signIn({ name: "Fin", role: "billing", projects: "all" });
  const put = (body: Body) => billing<ProjectEntity>("PUT", "/projects/paid/budgets", body);
  const { status, json } = await put({
    budget: { month: 50, day: 5 },
    perEndUser: { budget: { month: 1 } },
    perTag: { team: { budget: { month: 9 } } },
  });
  expect(status).toBe(200);
  expect(json.value as object).toEqual({
    limits: { requestsPerMinute: 60 },
    budget: { month: 50, day: 5, unknownPrice: "allow" },
    perEndUser: { limits: { concurrent: 2 }, budget: { month: 1, unknownPrice: "allow" } },
    perTag: {
      "env:*": { limits: { concurrent: 3 } },
      team: { budget: { month: 9, unknownPrice: "allow" } },
    },
  });
  expect((await put({ limits: { requestsPerMinute: 6 } })).status).toBe(400);
  expect((await put({})).json.value as object).toEqual({
    limits: { requestsPerMinute: 60 },
    perEndUser: { limits: { concurrent: 2 } },
    perTag: { "env:*": { limits: { concurrent: 3 } } },
  });
  for (const path of ["/keys", "/users", "/audit", "/settings"])
    expect([path, (await billing("GET", path)).status]).toEqual([path, 403]);
});
