/** The API keys that a user of the console created: listed, and with their usage, also when the user has a new name. */
import { afterAll, expect, test } from "bun:test";
import type {
  ApiKey,
  CreatedApiKey,
  Page,
  ShownRequest,
  UsagePage,
  User,
} from "../../contract/admin.ts";
import { startFake } from "../fake-upstream.ts";
import { post } from "../harness.ts";
import { until } from "../until.ts";
import { adminToken, startEntityGateway } from "./entities-fixture.ts";

const password = "correct horse battery";
const fake = startFake();
const gateway = await startEntityGateway({
  yaml: `
upstreams: [{ id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models: [{ id: embed, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }]
keys: [{ name: of-file, key: sk-file-0123456789abcdef }]
`,
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const api = `${gateway.url}/admin/api`;

async function send<Result>(
  headers: Readonly<Record<string, string>>,
  [method = "GET", path = ""]: readonly string[],
  body?: object,
): Promise<Result> {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return (await response.json()) as Result;
}
const admin = <Result>(call: string, body?: object) =>
  send<Result>({ authorization: `Bearer ${adminToken}` }, call.split(" "), body);

test("the keys that a user created are listed, and their usage is summed", async () => {
  const user = { name: "Dora", role: "developer", projects: "all", password };
  const { id } = await admin<User>("POST /users", user);
  const session = await fetch(`${api}/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "Dora", password }),
  });
  const { csrf_token } = (await session.json()) as { csrf_token: string };
  const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? "";
  const dora = <Result>(call: string, body?: object) =>
    send<Result>({ cookie, "x-csrf-token": csrf_token }, call.split(" "), body);
  const own = await dora<CreatedApiKey>("POST /keys", { name: "app" });
  expect(own.created_by_id).toBe(id);
  const { key: rotated } = await dora<CreatedApiKey>(`POST /keys/${own.id}/rotate`, {});
  const other = await admin<CreatedApiKey>("POST /keys", { name: "of the operator" });
  expect(other.created_by_id).toBeNull();
  for (const key of [own.key, rotated, other.key, "sk-file-0123456789abcdef"]) {
    const headers = { authorization: `Bearer ${key}` };
    const body = { model: "embed", input: "a text" };
    expect((await post(`${gateway.baseURL}/embeddings`, body, headers)).status).toBe(200);
  }
  await dora("POST /playground/embeddings", { model: "embed", input: "a text" });
  // The sessions of the user end.
  await admin(`PATCH /users/${id}`, { name: "Dorothea" });
  const keys = await admin<Page<ApiKey>>(`GET /keys?created_by=${id}`);
  expect(keys.data.map(({ name }) => name)).toEqual(["app", "app"]);
  const usage = (query: string) => admin<UsagePage>(`GET /usage?interval=total${query}`);
  await until(async () => (await usage("")).data[0]?.requests === 5);
  expect((await usage(`&created_by=${id}`)).data[0]?.requests).toBe(3);
  const { data } = await usage(`&created_by=${id}&group_by=key`);
  expect(data.map(({ group }) => group.key)).toContain(id);
  expect(data).toHaveLength(3);
  // The same requests, one by one: of the own keys, the rotated one, and in the playground.
  const requests = await admin<Page<ShownRequest>>(`GET /requests?created_by=${id}`);
  expect(requests.data.map(({ key_id }) => key_id).sort()).toEqual(
    [...keys.data.map((key) => key.id), id].sort(),
  );
});

test("the keys of a user who leaves are moved to another user, or revoked", async () => {
  const [leaver, heir] = await Promise.all(
    ["Lev", "Hera"].map((name) =>
      admin<User>("POST /users", { name, role: "developer", projects: "all", password }),
    ),
  );
  const session = await fetch(`${api}/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "Lev", password }),
  });
  const { csrf_token } = (await session.json()) as { csrf_token: string };
  const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? "";
  const lev = <Result>(call: string, body?: object) =>
    send<Result>({ cookie, "x-csrf-token": csrf_token }, call.split(" "), body);
  const limits = { requestsPerMinute: 60 };
  const { key } = await lev<CreatedApiKey>("POST /keys", { name: "app", limits });
  const gone = await lev<CreatedApiKey>("POST /keys", { name: "gone" });
  await fetch(`${api}/keys/${gone.id}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const change = async (method: string, id: string, body?: object): Promise<number> => {
    const response = await fetch(`${api}/users/${id}/keys`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.status;
  };
  const of = async (user: User | undefined) =>
    (await admin<Page<ApiKey>>(`GET /keys?created_by=${user?.id}`)).data.map(
      ({ name, created_by, limits: own, state }) => [name, created_by, own, state],
    );
  const status = async () => {
    const headers = { authorization: `Bearer ${key}` };
    const body = { model: "embed", input: "a text" };
    return (await post(`${gateway.baseURL}/embeddings`, body, headers)).status;
  };
  expect(await change("PUT", leaver!.id, { to: "user_0" })).toBe(404);
  expect(await change("PUT", leaver!.id, { to: heir!.id })).toBe(204);
  expect(await of(leaver)).toEqual([["gone", "Lev", null, "revoked"]]);
  expect(await of(heir)).toEqual([["app", "Hera", limits, "active"]]);
  expect(await status()).toBe(200);
  expect(await change("DELETE", heir!.id)).toBe(204);
  expect((await of(heir)).map(([, , , state]) => state)).toEqual(["revoked"]);
  expect(await status()).toBe(401);
});
