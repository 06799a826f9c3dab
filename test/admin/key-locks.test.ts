/** Limits and budgets that an administrator set are upper bounds for developers. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { ApiKey, CreatedApiKey, Page } from "../../contract/admin.ts";
import {
  type LawGateway,
  nameOf,
  type SendOptions,
  startLawGateway,
  withParameters,
} from "./laws/law-gateway.ts";

let gateway: LawGateway;
beforeAll(async () => {
  gateway = await startLawGateway();
});
afterAll(() => gateway.close());

type Send = (path: string, options: SendOptions) => Promise<Response>;
const users = () => ({
  admin: ((path, options) => gateway.users.admin.send(path, options)) as Send,
  token: ((path, { method, body }) => gateway.asToken(path, method, body)) as Send,
  developer: ((path, options) => gateway.users.developer.send(path, options)) as Send,
  alphaDeveloper: ((path, options) => gateway.users.alphaDeveloper.send(path, options)) as Send,
  viewer: ((path, options) => gateway.users.viewer.send(path, options)) as Send,
});
const administrators = ["admin", "token"] as const;
const developers = ["developer", "alphaDeveloper"] as const;

const bounds = {
  limits: {
    requestsPerMinute: 100,
    tokensPerMinute: 1000,
    imagesPerMinute: 10,
    megapixelsPerMinute: 2.5,
    concurrent: 4,
  },
  budget: { day: 0.001, month: 5, total: 50, unknownPrice: "refuse" },
} as const;
const locked = {
  "limits.requestsPerMinute": 100,
  "limits.tokensPerMinute": 1000,
  "limits.imagesPerMinute": 10,
  "limits.megapixelsPerMinute": 2.5,
  "limits.concurrent": 4,
  "budget.day": 0.001,
  "budget.month": 5,
  "budget.total": 50,
  "budget.unknownPrice": "refuse",
} as const;
const base = { name: "app", project: "alpha", models: ["embed"], expires: "2999-01-01T00:00:00Z" };
const body = { ...base, ...bounds };

async function create(send: Send, value: object = body): Promise<CreatedApiKey> {
  const response = await send("/keys", { method: "POST", body: value });
  expect(response.status).toBe(201);
  return (await response.json()) as CreatedApiKey;
}

const put = (send: Send, { id }: ApiKey, value: object): Promise<Response> =>
  send(`/keys/${id}`, { method: "PUT", body: value });

async function find(id: string): Promise<ApiKey | undefined> {
  const { data } = (await (await gateway.asToken("/keys")).json()) as Page<ApiKey>;
  return data.find((each) => each.id === id);
}

async function expectRefused(response: Response, param: string): Promise<void> {
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  expect([response.status, error.code, error.param]).toEqual([403, "permission_denied", param]);
  expect(error.message).toContain("nly an administrator can");
}

/** The bounds without one field, or with another value of it. */
function changed(field: string, value: unknown) {
  const [group = "", name = ""] = field.split(".");
  const { [name]: _, ...others } = bounds[group as keyof typeof bounds] as Record<string, unknown>;
  return { ...body, [group]: { ...others, ...(value !== undefined && { [name]: value }) } };
}

test("a developer neither raises nor removes a limit or a budget that an administrator set", async () => {
  for (const administrator of administrators) {
    const key = await create(users()[administrator]);
    expect(key.locked).toEqual(locked);
    for (const developer of developers) {
      const send = users()[developer];
      for (const [field, value] of Object.entries(locked)) {
        const raised = typeof value === "number" ? value * 2 : "allow";
        await expectRefused(await put(send, key, changed(field, raised)), field);
        await expectRefused(await put(send, key, changed(field, undefined)), field);
      }
      await expectRefused(
        await put(send, key, { ...base, budget: bounds.budget }),
        "limits.requestsPerMinute",
      );
      await expectRefused(await put(send, key, { ...base, limits: bounds.limits }), "budget.day");
    }
    expect(await find(key.id)).toMatchObject({ limits: bounds.limits, budget: bounds.budget });
  }
});

test("a developer lowers a limit that an administrator set, and returns to it", async () => {
  const { admin, developer } = users();
  const key = await create(admin);
  const lower = { ...changed("budget.day", 0), limits: { ...bounds.limits, concurrent: 1 } };
  for (const value of [lower, body, { ...body, name: "renamed", models: ["embed"] }]) {
    const response = await put(developer, key, value);
    expect(response.status).toBe(200);
    expect(((await response.json()) as ApiKey).locked).toEqual(locked);
  }
});

test("a developer sets, raises and removes limits of keys without limits of an administrator", async () => {
  for (const name of developers) {
    const send = users()[name];
    const key = await create(send, { ...base, budget: { day: 1 } });
    expect(key.locked).toEqual({});
    for (const value of [{ budget: { day: 1000 } }, bounds, {}, { limits: { concurrent: 9 } }]) {
      expect((await put(send, key, { ...base, ...value })).status).toBe(200);
    }
    expect((await put(send, key, { ...base, models: ["*"], expires: undefined })).status).toBe(200);
  }
});

test("a limit that an administrator adds to a developer's key is locked, and the developer's own are not", async () => {
  const { admin, developer } = users();
  const key = await create(developer, { ...base, budget: { day: 1, month: 9 } });
  const both = { ...base, budget: { day: 1, month: 7 }, limits: { concurrent: 2 } };
  expect((await put(admin, key, both)).status).toBe(200);
  const raised = { ...both, budget: { day: 30, month: 7 } };
  expect((await put(developer, key, raised)).status).toBe(200);
  await expectRefused(
    await put(developer, key, { ...raised, budget: { day: 30, month: 8 } }),
    "budget.month",
  );
  await expectRefused(
    await put(developer, key, { ...base, budget: raised.budget }),
    "limits.concurrent",
  );
  // What the administrator removes is free again.
  expect((await put(admin, key, base)).status).toBe(200);
  expect((await put(developer, key, { ...base, limits: { concurrent: 100 } })).status).toBe(200);
});

test("an administrator raises and removes every limit", async () => {
  for (const name of administrators) {
    const send = users()[name];
    const key = await create(send);
    for (const field of Object.keys(locked))
      expect((await put(send, key, changed(field, undefined))).status).toBe(200);
    const response = await put(send, key, base);
    expect(((await response.json()) as ApiKey).locked).toEqual({});
  }
});

test("a developer does not take a key with a limit of an administrator out of its project, models or expiry", async () => {
  const { admin, developer } = users();
  const key = await create(admin, { ...body, models: ["embed", "text-*"] });
  const same = { ...body, models: ["embed", "text-*"] };
  await expectRefused(await put(developer, key, { ...same, project: "beta" }), "project");
  await expectRefused(await put(developer, key, { ...same, project: undefined }), "project");
  for (const models of [["*"], ["embed", "image"], ["embed", "te*"], ["?ext-*"]])
    await expectRefused(await put(developer, key, { ...same, models }), "models");
  for (const expires of [undefined, "2999-01-02"])
    await expectRefused(await put(developer, key, { ...same, expires }), "expires");
  const narrower = { ...same, models: ["text-small", "embed"], expires: "2998-01-01" };
  expect((await put(developer, key, narrower)).status).toBe(200);
});

test("a rotated key keeps its limits, its locks and, when a developer rotates it, its end", async () => {
  const { admin, developer } = users();
  const expires = new Date(Date.now() + 60 * 60_000).toISOString();
  const key = await create(admin, { ...body, expires });
  const rotate = async (send: Send, { id }: ApiKey) => {
    const response = await send(`/keys/${id}/rotate`, { method: "POST", body: {} });
    expect(response.status).toBe(201);
    return (await response.json()) as CreatedApiKey;
  };
  const rotated = await rotate(developer, key);
  expect(rotated).toMatchObject({ ...bounds, locked, expires_at: expires });
  await expectRefused(
    await put(developer, rotated, { ...changed("budget.day", 1000), expires }),
    "budget.day",
  );
  const again = await rotate(admin, rotated);
  expect(again.locked).toEqual(locked);
  expect(Date.parse(again.expires_at ?? "")).toBeGreaterThan(Date.parse(expires));
});

test("developers and viewers change limits and budgets through no other route", async () => {
  const { paths } = gateway.document;
  const withLimits = gateway.operations.filter(({ method, path, role }) => {
    const schema = JSON.stringify(paths[path]?.[method.toLowerCase()]?.requestBody ?? {});
    return role !== "admin" && /"(limits|budget)":/.test(schema);
  });
  expect(withLimits.map((each) => [nameOf(each), each.role]).sort()).toEqual([
    ["POST /admin/api/keys", "developer"],
    ["POST /admin/api/keys/bulk", "developer"],
    ["PUT /admin/api/keys/{id}", "developer"],
    ["PUT /admin/api/projects/{id}/budgets", "billing"],
  ]);
  const key = await create(users().admin);
  const { viewer, developer, alphaDeveloper } = users();
  for (const { method, path, role } of withLimits) {
    for (const send of role === "billing" ? [viewer, developer, alphaDeveloper] : [viewer]) {
      const response = await send(withParameters(path, key.id), { method, body });
      expect([path, response.status]).toEqual([path, 403]);
    }
  }
  const entities = ["/projects", "/models", "/upstreams"].flatMap((path) => [
    ["POST", path] as const,
    ["PUT", `${path}/alpha`] as const,
  ]);
  for (const [method, path] of entities) {
    for (const send of [viewer, developer, alphaDeveloper]) {
      const { status } = await send(path, { method, body: { name: "alpha", id: "alpha" } });
      expect([method, path, status]).toEqual([method, path, 403]);
    }
  }
});

test("only an administrator lets a key see the cost of its requests; a developer may hide it", async () => {
  const { admin, developer } = users();
  const shown = { ...base, showCost: true };
  await expectRefused(await developer("/keys", { method: "POST", body: shown }), "showCost");
  const hidden = await create(developer, base);
  await expectRefused(await put(developer, hidden, shown), "showCost");
  expect(hidden.show_cost).toBe(false);
  const key = await create(admin, shown);
  expect(key.show_cost).toBe(true);
  expect((await put(developer, key, { ...shown, name: "renamed" })).status).toBe(200);
  expect((await put(developer, key, base)).status).toBe(200);
  expect((await find(key.id))?.show_cost).toBe(false);
});
