/** Laws over every route of the admin API: what its responses, the pages and the log contain. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { blocksOf, codesIn, rowsOf, sectionOf } from "../../laws/markdown.ts";
import { checkResponsesBy } from "../documented-responses.ts";
import {
  codeOf,
  type LawGateway,
  nameOf,
  type Operation,
  secrets,
  send,
  startLawGateway,
  textOf,
  withParameters,
} from "./law-gateway.ts";

let gateway: LawGateway;
let check: ReturnType<typeof checkResponsesBy>;
beforeAll(async () => {
  gateway = await startLawGateway();
  check = checkResponsesBy(gateway.document);
});
afterAll(() => gateway.close());

const hostile = [
  `<script>alert("xss")</script>`,
  `"><img src=x onerror=alert(1)>`,
  "javascript:alert(1)",
  "</script><svg onload=alert(1)>",
  "{{constructor.constructor('alert(1)')()}}",
];

const readable = (): readonly Operation[] =>
  gateway.operations.filter(({ method, path }) => method === "GET" && !path.includes("{"));

test("every response has the security headers, errors included", async () => {
  const responses: [string, Response][] = [];
  for (const operation of gateway.operations) {
    const { method, path } = operation;
    const address = withParameters(path);
    const body = {};
    responses.push([nameOf(operation), await send(gateway.url, address, { method, body })]);
    responses.push([nameOf(operation), await send(gateway.url, address, { method: "OPTIONS" })]);
    // The sign-out would end the session of the others.
    if (method === "DELETE" && path.endsWith("/session")) continue;
    responses.push([nameOf(operation), await gateway.users.admin.send(address, { method, body })]);
    void responses.at(-1)?.[1].body?.cancel();
  }
  responses.push(["unknown", await send(gateway.url, "/nothing", {})]);
  for (const [name, { headers }] of responses) {
    expect([name, headers.get("content-security-policy")]).toEqual([
      name,
      "default-src 'none'; frame-ancestors 'none'",
    ]);
    expect([name, headers.get("x-content-type-options")]).toEqual([name, "nosniff"]);
    expect([name, headers.get("x-frame-options")]).toEqual([name, "DENY"]);
    expect([name, headers.get("cache-control")]).toEqual([name, "no-store"]);
    expect([name, headers.get("referrer-policy")]).toEqual([name, "no-referrer"]);
    expect([name, headers.get("access-control-allow-origin")]).toEqual([name, null]);
  }
});

test("every page has a strict policy: no inline script, no other host, no frame", async () => {
  for (const path of ["/console", "/console/", "/console/keys", "/console/nothing"]) {
    const { headers } = await fetch(`${gateway.url}${path}`);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(policy).not.toContain("http");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).not.toBeNull();
  }
});

test("a body above the limit is refused by every route that reads one", async () => {
  const body = { name: "x".repeat(1024 * 1024) };
  const reading = gateway.operations.filter(({ hasBody }) => hasBody);
  expect(reading.length).toBeGreaterThan(5);
  for (const operation of reading) {
    const { method, path } = operation;
    const response = await gateway.users.admin.send(withParameters(path), { method, body });
    const code = await codeOf(response);
    // Some routes look for the entity of the path first.
    expect([nameOf(operation), [404, 413].includes(response.status), code]).toEqual([
      nameOf(operation),
      true,
      code,
    ]);
    if (!path.includes("{"))
      expect([nameOf(operation), response.status]).toEqual([nameOf(operation), 413]);
  }
});

test("markup in any field comes back as JSON text, unchanged", async () => {
  for (const text of hostile) {
    expect((await gateway.asToken("/projects", "POST", { name: text })).status).toBe(201);
    const user = await gateway.asToken("/users", "POST", {
      name: `${text} user`,
      password: secrets.password,
      role: "viewer",
      projects: [text],
    });
    expect(user.status).toBe(201);
    const body = { name: `${text} key`, models: ["*"], project: "alpha" };
    expect((await gateway.asToken("/keys", "POST", body)).status).toBe(201);
    await send(gateway.url, "/session", { method: "POST", body: { name: text, password: "x" } });
  }
  let found = 0;
  for (const operation of readable()) {
    if (operation.role === "anyone") continue;
    const response = await gateway.asToken(operation.address);
    const type = response.headers.get("content-type") ?? "";
    const text = await textOf(response);
    const isHtml = /html|xml|svg|javascript/.test(type);
    expect([nameOf(operation), type, isHtml]).toEqual([nameOf(operation), type, false]);
    if (!type.startsWith("application/json")) continue;
    const values = JSON.stringify(JSON.parse(text));
    found += hostile.filter((each) => values.includes(JSON.stringify(each).slice(1, -1))).length;
  }
  // Users, keys and the audit log.
  expect(found).toBeGreaterThanOrEqual(3 * hostile.length);
});

test("no secret is in a response, in a page or in the log", async () => {
  const { key } = await gateway.createKey("secret test", "alpha");
  const { cookie, csrfToken } = gateway.users.admin;
  const session = /vexel_session=([^;]+)/.exec(cookie)?.[1] ?? "";
  expect(session.length).toBeGreaterThan(20);
  const planted = { ...secrets, key, session };
  const texts: [string, string][] = [];
  for (const operation of readable()) {
    for (const send of [gateway.asToken, (path: string) => gateway.users.admin.send(path)]) {
      texts.push([nameOf(operation), await textOf(await send(operation.address))]);
    }
  }
  // Routes with an id: those of the first entity of each list.
  for (const operation of gateway.operations) {
    if (operation.method !== "GET" || !/^[^{]*\{\w+\}$/.test(operation.path)) continue;
    const list = await gateway.asToken(operation.path.replace(/\/\{\w+\}$/, ""));
    if (list.status !== 200) continue;
    const { data = [] } = (await list.json()) as { data?: { id?: string; name?: string }[] };
    for (const { id, name } of data) {
      const address = withParameters(operation.path, encodeURIComponent(id ?? name ?? ""));
      texts.push([nameOf(operation), await textOf(await gateway.asToken(address))]);
    }
  }
  // Errors repeat parts of requests.
  for (const { method, path, hasBody } of gateway.operations) {
    if (!hasBody) continue;
    const body = { name: 1, password: secrets.password, apiKey: secrets.upstreamKey, secret: 1 };
    texts.push([path, await textOf(await gateway.asToken(withParameters(path), method, body))]);
  }
  const page = await textOf(await fetch(`${gateway.url}/console/`));
  const scripts = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? "");
  for (const path of scripts) {
    texts.push([path, await textOf(await fetch(new URL(path, `${gateway.url}/console/`)))]);
  }
  texts.push(["the page", page], ["the log", gateway.log()]);
  for (const [name, text] of texts) {
    for (const [secret, value] of Object.entries(planted)) {
      expect([name, secret, text.includes(value)]).toEqual([name, secret, false]);
    }
  }
  // The CSRF token is for the page of the user, and for nothing else.
  const withCsrf = texts.filter(([, text]) => text.includes(csrfToken)).map(([name]) => name);
  expect(new Set(withCsrf)).toEqual(new Set(["GET /admin/api/session"]));
});

test("every response to a GET matches the OpenAPI document", async () => {
  for (const operation of readable()) {
    if (!schemaOf(operation)) continue;
    const response = await gateway.users.admin.send(operation.address);
    expect([nameOf(operation), response.status]).toEqual([nameOf(operation), 200]);
    checkResponse(operation, await response.json());
  }
});

const schemaOf = ({ responses }: Pick<Operation, "responses">) =>
  responses["200"]?.content?.["application/json"]?.schema;

/** Throws if the JSON of a success does not match the schema of the operation. */
const checkResponse = ({ method, path }: Operation, json: unknown): void =>
  expect(check({ method, path, status: 200, json })).toBe(true);

test("docs/admin-api.md has every route with its role, its scope and its summary, and no other", () => {
  /** Administrators see all projects, so their routes need no scope. */
  const scopeOf = (role: string, scope: string): string =>
    role === "admin" || scope === "gateway" ? "" : `, ${scope.replace("-", " ")}`;
  // The routes that every kind of entity has are in a table of their own.
  const ofEntities = rowsOf(sectionOf("docs/admin-api.md", "Entities")).flatMap(
    ([path = "", list, one, changes]) => {
      const name = codesIn(path)[0];
      return [
        `GET ${name}: ${list}`,
        `POST ${name}: ${changes}`,
        `GET ${name}/{id}: ${one}`,
        `PUT ${name}/{id}: ${changes}`,
        `DELETE ${name}/{id}: ${changes}`,
      ];
    },
  );
  const rows = Object.entries(gateway.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const role = String(operation["x-role"]);
      const access = role + scopeOf(role, String(operation["x-scope"]));
      const route = `${method.toUpperCase()} ${path.slice("/admin/api".length)}`;
      const isOfEntities = ofEntities.some((each) => each.startsWith(`${route}: `));
      return isOfEntities
        ? `${route}: ${access}`
        : `| \`${route}\` | ${access} | ${operation.summary} |`;
    }),
  );
  const documented = rowsOf(sectionOf("docs/admin-api.md", "Routes")).map(
    (cells) => `| ${cells.join(" | ")} |`,
  );
  expect([...documented, ...ofEntities].sort()).toEqual(rows.sort());
});

test("the examples of docs/admin-api.md match the OpenAPI document", () => {
  const examples = blocksOf("docs/admin-api.md").filter(({ info }) => info === "json response");
  expect(examples.length).toBeGreaterThan(4);
  for (const { text, under } of examples) {
    const operation = gateway.operations.find((each) => `\`${nameOf(each)}\`` === under);
    if (!operation) throw new Error(`there is no ${under}`);
    checkResponse(operation, JSON.parse(text));
  }
});

test("the document is OpenAPI 3.1: unique ids, described parameters, references that resolve", () => {
  const operations = Object.values(gateway.document.paths).flatMap((each) => Object.values(each));
  const ids = operations.map(({ operationId }) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { operationId, summary, parameters = [] } of operations) {
    expect([operationId, summary]).toEqual([operationId, expect.stringMatching(/^[A-Z].*\.$/)]);
    for (const parameter of parameters as { in: string; name: string; description?: string }[]) {
      if (parameter.in !== "query") continue;
      expect([operationId, parameter.name, parameter.description]).toEqual([
        operationId,
        parameter.name,
        expect.stringMatching(/\w/),
      ]);
    }
  }
  const references = [...JSON.stringify(gateway.document).matchAll(/"\$ref":"([^"]+)"/g)];
  expect(references.length).toBeGreaterThan(10);
  for (const [, reference = ""] of references) {
    const steps = reference.replace(/^#\//, "").split("/");
    const found = steps.reduce<unknown>(
      (at, step) => (at as Record<string, unknown>)?.[step],
      gateway.document,
    );
    expect([reference, typeof found]).toEqual([reference, "object"]);
  }
});

test("a script of an earlier build of the console is not found, and every other path is a page", async () => {
  const script = await fetch(`${gateway.url}/console/chunk-of-an-earlier-build.js`);
  expect(script.status).toBe(404);
  const page = await fetch(`${gateway.url}/console/model/a-model.js`);
  expect([page.status, page.headers.get("content-type")]).toEqual([
    200,
    "text/html; charset=utf-8",
  ]);
});
