/** Laws over every route of the admin API: who may call it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type ApiKey,
  can,
  capabilities,
  type Page,
  type Role,
  roles,
  rolesWith,
} from "../../../contract/admin.ts";
import { withCapability } from "../../../server/admin/actor.ts";
import {
  apiKey,
  betaMark,
  codeOf,
  type LawGateway,
  nameOf,
  type Operation,
  secrets,
  send,
  startLawGateway,
  textOf,
  webhookPath,
  withParameters,
} from "./law-gateway.ts";

let gateway: LawGateway;
beforeAll(async () => {
  gateway = await startLawGateway();
});
afterAll(() => gateway.close());

const isClosed = ({ role }: Operation): boolean => role !== "anyone";
const isChange = ({ method }: Operation): boolean => method !== "GET";

/**
 * Expects this status and code from all operations that `include` accepts. A failure names the operations that differ.
 */
async function expectAll(
  include: (operation: Operation) => boolean,
  call: (operation: Operation) => Promise<Response>,
  expected: { readonly status: number; readonly code?: string },
): Promise<void> {
  const operations = gateway.operations.filter(include);
  expect(operations.length).toBeGreaterThan(0);
  const differing: string[] = [];
  for (const operation of operations) {
    const response = await call(operation);
    const code = await codeOf(response);
    if (response.status === expected.status && (!expected.code || code === expected.code)) continue;
    differing.push(`${nameOf(operation)}: ${response.status} ${code}`);
  }
  expect(differing).toEqual([]);
}

/**
 * The authentication is the same in every route: all routes are tried with the first of several wrong credentials, and
 * one that reads and one that changes with the others.
 */
const routesFor = (at: number) => (operation: Operation) =>
  isClosed(operation) &&
  (at === 0 || ["GET /admin/api/keys", "POST /admin/api/keys"].includes(nameOf(operation)));

let addresses = 0;
/** The header of a client at an address that has sent no wrong token yet. */
const newAddress = () => {
  addresses += 1;
  return { "x-forwarded-for": `198.18.${addresses >> 8}.${addresses & 255}` };
};

test("only the listed routes need no session", () => {
  const open = gateway.operations.filter((each) => !isClosed(each)).map(nameOf);
  expect(open.sort()).toEqual([
    "GET /admin/api/session/oidc",
    "GET /admin/api/session/oidc/callback",
    "GET /admin/api/session/options",
    "POST /admin/api/session",
    "POST /admin/api/session/invite",
    "POST /admin/api/session/invite/accept",
    "POST /admin/api/session/setup",
  ]);
});

test("every route names a role that exists and a scope", () => {
  for (const { role, scope } of gateway.operations) {
    expect([...roles, "anyone"]).toContain(role);
    expect(["gateway", "project", "all-projects"]).toContain(scope);
  }
  expect(gateway.operations.length).toBeGreaterThan(20);
});

test("a role that is not listed is refused everywhere", () => {
  for (const projects of [null, ["alpha"]]) {
    const role = "owner" as "admin";
    const roles = { role, project_roles: { alpha: role } };
    const actor = { name: "x", userId: "x", projects, ...roles };
    for (const needed of capabilities)
      for (const scope of ["gateway", "project", "all-projects"] as const)
        expect(() => withCapability(actor, needed, scope)).toThrow("requires the role");
  }
  expect(capabilities.filter((each) => can("constructor", each))).toEqual([]);
});

test("without a session every route is refused", async () => {
  await expectAll(
    isClosed,
    ({ method, path }) => send(gateway.url, withParameters(path), { method, body: {} }),
    { status: 401, code: "not_signed_in" },
  );
});

test("a client's API key is refused by every admin route, whatever the header", async () => {
  for (const key of [apiKey, gateway.keys.alpha.key]) {
    for (const [at, [headers, code]] of (
      [
        [{ authorization: `Bearer ${key}` }, "invalid_api_key"],
        [{ "api-key": key, cookie: `vexel_session=${key}` }, "not_signed_in"],
        [{ "api-key": secrets.adminToken }, "not_signed_in"],
      ] as const
    ).entries()) {
      await expectAll(
        routesFor(key === apiKey ? at : 1),
        ({ method, path }) =>
          send(gateway.url, withParameters(path), {
            method,
            headers: { ...headers, ...newAddress() },
            body: {},
          }),
        { status: 401, code },
      );
    }
  }
});

test("the admin token is refused by model routes, and a wrong admin token by every admin route", async () => {
  const headers = { authorization: `Bearer ${secrets.adminToken}` };
  expect((await fetch(`${gateway.url}/v1/models`, { headers })).status).toBe(401);
  const { adminToken } = secrets;
  const wrongTokens = [
    `${adminToken}x`,
    adminToken.slice(1),
    adminToken.slice(0, -1),
    adminToken.toUpperCase(),
    "x",
  ];
  for (const [at, wrong] of wrongTokens.entries()) {
    await expectAll(
      routesFor(at),
      ({ method, path }) =>
        send(gateway.url, withParameters(path), {
          method,
          body: {},
          headers: { authorization: `Bearer ${wrong}`, ...newAddress() },
        }),
      { status: 401, code: "invalid_api_key" },
    );
  }
});

describe("a user with a lower role is refused", () => {
  const refusing = roles.filter((role) => !can(role, "administer"));
  for (const role of refusing as Exclude<Role, "admin">[]) {
    test(role, async () => {
      await expectAll(
        // The least role that has the capability that the route needs.
        ({ role: least }) =>
          least !== "anyone" &&
          capabilities.some((each) => rolesWith(each)[0] === least && !can(role, each)),
        ({ method, path }) => gateway.users[role].send(withParameters(path), { method, body: {} }),
        { status: 403, code: "permission_denied" },
      );
    });
  }
});

test("the role billing changes budgets and its own account, and nothing else", () => {
  const changes = gateway.operations
    .filter(isChange)
    .filter(({ role }) =>
      capabilities.some((each) => rolesWith(each)[0] === role && can("billing", each)),
    )
    .map(nameOf)
    .filter((name) => !name.includes("/account"));
  expect(changes).toEqual(["DELETE /admin/api/session", "PUT /admin/api/projects/{id}/budgets"]);
});

test("the role billing reads no key, no content of a request and no result of a job", async () => {
  const reads = ["/keys", "/key-use?ids=x", "/keys/{id}", "/model-access?model=embed"];
  const contents = ["/requests/{id}/content", "/jobs/{id}/output", "/jobs/{id}/errors"];
  for (const path of [...reads, ...contents]) {
    const address = withParameters(`/admin/api${path}`, gateway.requests.alpha);
    const response = await gateway.users.billing.send(address);
    expect([path, response.status]).toEqual([path, 403]);
  }
  for (const path of ["/usage", "/budgets", "/projects", "/projects/alpha/statements"])
    expect((await gateway.users.billing.send(path)).status).toBe(200);
});

test("only administrators see the path of a webhook URL, which may be a credential", async () => {
  const reads = gateway.operations.filter(({ method }) => method === "GET");
  const [{ id = "" } = {}] = ((await (await gateway.asToken("/webhooks")).json()) as Page<ApiKey>)
    .data;
  for (const user of [gateway.users.viewer, gateway.users.developer]) {
    for (const operation of reads) {
      const text = await textOf(await user.send(withParameters(operation.address, id)));
      const isShown = text.includes("planted-webhook-path") || text.includes('"lastFour":"path"');
      expect([nameOf(operation), isShown]).toEqual([nameOf(operation), false]);
    }
    expect(await textOf(await user.send("/webhooks"))).toContain('"url":"http://127.0.0.1:9"');
  }
  expect(await textOf(await gateway.users.admin.send("/webhooks"))).toContain(webhookPath);
});

describe("CSRF", () => {
  test("a change with the session cookie but without the CSRF token is refused", async () => {
    const { cookie } = gateway.users.admin;
    for (const [at, csrf] of [undefined, "", "wrong"].entries()) {
      await expectAll(
        (operation) => routesFor(at)(operation) && isChange(operation),
        ({ method, path }) =>
          send(gateway.url, withParameters(path), {
            method,
            body: {},
            headers: { cookie, ...(csrf !== undefined && { "x-csrf-token": csrf }) },
          }),
        { status: 403, code: "invalid_csrf_token" },
      );
    }
  });

  test("a change from the page of another origin is refused, also a sign-in", async () => {
    const origins = ["https://evil.example", "null", `${gateway.url}.evil.example`];
    for (const [at, origin] of origins.entries()) {
      await expectAll(
        (operation) => isChange(operation) && (at === 0 || routesFor(at)(operation)),
        ({ method, path }) =>
          gateway.users.admin.send(withParameters(path), {
            method,
            body: {},
            headers: { origin, "sec-fetch-site": "cross-site" },
          }),
        { status: 403, code: "invalid_csrf_token" },
      );
    }
  });
});

describe("a user of one project", () => {
  test("is refused if the data cannot be separated by project", async () => {
    await expectAll(
      ({ scope, role }) => scope === "all-projects" && role !== "admin",
      ({ method, path }) =>
        gateway.users.alphaDeveloper.send(withParameters(path), { method, body: {} }),
      { status: 403, code: "permission_denied" },
    );
  });

  test("has a role of its own in a project, and the general one in the others", async () => {
    const { alphaLead } = gateway.users;
    const create = (project: string) =>
      alphaLead.send("/keys", { method: "POST", body: { name: "of lead", project } });
    expect((await create("alpha")).status).toBe(201);
    for (const project of ["beta", "delta"]) expect((await create(project)).status).toBe(403);
    const list = (await (await alphaLead.send("/keys")).json()) as Page<ApiKey>;
    expect(new Set(list.data.map(({ project }) => project))).toEqual(new Set(["alpha"]));
    const playground = (project: string) =>
      alphaLead.send("/playground/embeddings", {
        method: "POST",
        body: { model: "embed", input: "x" },
        headers: { "vexel-project": project },
      });
    expect((await playground("alpha")).status).toBe(200);
    expect((await playground("delta")).status).toBe(403);
    expect((await alphaLead.send("/usage?group_by=project")).status).toBe(200);
    const member = (project: string, role: string | null) =>
      alphaLead.send(`/projects/${project}/members/Aline`, { method: "PUT", body: { role } });
    expect((await member("delta", null)).status).toBe(404);
    expect((await member("beta", null)).status).toBe(404);
  });

  /** The id of something of the project `beta`, by the path of its resource. */
  const foreignIds: Readonly<Record<string, () => Promise<string> | string>> = {
    "/admin/api/keys/{id}": () => gateway.keys.beta.id,
    "/admin/api/keys/{id}/rotate": () => gateway.keys.beta.id,
    "/admin/api/projects/{id}": () => "beta",
    "/admin/api/projects/{id}/budgets": () => "beta",
    "/admin/api/projects/{id}/members/{user}": () => "beta",
    "/admin/api/projects/{id}/statements": () => "beta",
    "/admin/api/projects/{id}/statements/{month}": () => "beta",
    "/admin/api/requests/{id}": () => gateway.requests.beta,
    "/admin/api/requests/{id}/content": () => gateway.requests.beta,
    "/admin/api/jobs/{id}": () => gateway.jobs.beta,
    "/admin/api/jobs/{id}/pause": () => gateway.jobs.beta,
    "/admin/api/jobs/{id}/resume": () => gateway.jobs.beta,
    "/admin/api/jobs/{id}/cancel": () => gateway.jobs.beta,
    "/admin/api/jobs/{id}/output": () => gateway.jobs.beta,
    "/admin/api/jobs/{id}/errors": () => gateway.jobs.beta,
  };

  test("gets 404 for everything of another project (IDOR), in every route with an id", async () => {
    const operations = gateway.operations.filter(
      ({ scope, path }) => scope === "project" && path.includes("{"),
    );
    expect(operations.length).toBeGreaterThan(2);
    for (const operation of operations) {
      const { method, path, role } = operation;
      const foreignId = foreignIds[path];
      if (!foreignId) throw new Error(`Add an id of another project for ${nameOf(operation)}.`);
      const { alphaViewer, alphaDeveloper, alphaBilling, alphaLead } = gateway.users;
      const users = { developer: alphaDeveloper, billing: alphaBilling, lead: alphaLead };
      const user =
        role === "viewer" || role === "admin" || role === "anyone" ? alphaViewer : users[role];
      const unknown = await user.send(withParameters(path, "unknown-id"), { method, body: {} });
      const foreign = await user.send(withParameters(path, await foreignId()), {
        method,
        body: {},
      });
      expect([nameOf(operation), foreign.status]).toEqual([nameOf(operation), 404]);
      // Not distinguishable from something that does not exist, except by the id itself.
      const [text, unknownText] = [await textOf(foreign), await textOf(unknown)];
      expect(text.replaceAll(await foreignId(), "unknown-id")).toBe(unknownText);
    }
    const { status } = await gateway.users.betaDeveloper.send("/keys");
    expect(status).toBe(200);
  });

  test("sees nothing of another project in any list", async () => {
    const lists = gateway.operations.filter(
      ({ method, path, scope }) =>
        method === "GET" && !path.includes("{") && scope !== "all-projects",
    );
    expect(lists.length).toBeGreaterThan(4);
    for (const operation of lists) {
      for (const user of [gateway.users.alphaDeveloper, gateway.users.alphaViewer]) {
        const text = await textOf(await user.send(operation.address));
        for (const mark of [
          betaMark,
          gateway.keys.beta.id,
          gateway.requests.beta,
          gateway.jobs.beta,
          "12345.678",
        ]) {
          expect([nameOf(operation), text.includes(mark)]).toEqual([nameOf(operation), false]);
        }
      }
    }
    // A user of the other project finds the marks.
    const text = await textOf(await gateway.users.betaDeveloper.send("/keys"));
    expect(text).toContain(betaMark);
  });

  test("gets full pages of the keys of their projects, the newest first, and finds them", async () => {
    const names = ["alpha-1", "alpha-2", "alpha-3"];
    for (const name of names) await gateway.createKey(name, "alpha");
    for (const at of [1, 2, 3]) await gateway.createKey(`${betaMark}-${at}`, "beta");
    const keysOf = async (query: string) => {
      const response = await gateway.users.alphaDeveloper.send(`/keys?${query}`);
      return ((await response.json()) as Page<ApiKey>).data.map(({ name }) => name);
    };
    expect(await keysOf("limit=3")).toEqual(names.toReversed());
    expect(await keysOf("search=ALPHA-2")).toEqual(["alpha-2"]);
    expect(await keysOf(`search=${betaMark}`)).toEqual([]);
  });

  test("cannot name another project in a filter, a new key or a playground", async () => {
    const user = gateway.users.alphaDeveloper;
    for (const project of ["beta", "", undefined]) {
      const body = { name: "x", models: ["*"], ...(project !== undefined && { project }) };
      const { status } = await user.send("/keys", { method: "POST", body });
      expect([project, status >= 400]).toEqual([project, true]);
    }
    const refused = await user.send("/playground/embeddings", {
      method: "POST",
      body: { model: "embed", input: "x" },
      headers: { "vexel-project": "beta" },
    });
    expect(await codeOf(refused)).toBe("permission_denied");
    const unknown = await gateway.users.developer.send("/playground/embeddings", {
      method: "POST",
      body: { model: "embed", input: "x" },
      headers: { "vexel-project": "gamma" },
    });
    expect(await codeOf(unknown)).toBe("invalid_value");
    const job = await user.send(`/jobs?endpoint=/v1/embeddings&key_id=${gateway.keys.beta.id}`, {
      method: "POST",
      body: {},
    });
    expect(await codeOf(job)).toBe("invalid_value");
    for (const operation of gateway.operations) {
      if (operation.method !== "GET" || operation.path.includes("{")) continue;
      const response = await user.send(
        `${operation.address}${operation.address.includes("?") ? "&" : "?"}project=beta`,
      );
      expect([nameOf(operation), (await textOf(response)).includes(betaMark)]).toEqual([
        nameOf(operation),
        false,
      ]);
    }
  });
});
