/** Replicas share API keys, configuration and console sessions through the database, and start without it. */
import { afterAll, expect } from "bun:test";
import { join } from "node:path";
import type { CreatedAdminToken, Session, User } from "../../contract/admin.ts";
import { startFake } from "../fake-upstream.ts";
import { type GatewayProcess, temporaryFolder } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { vexel, vexelProcess } from "../process/process-fixture.ts";
import { freePort, sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";
import { until } from "../until.ts";
import { cookieOf, replicaStarter, sharedSecret } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);

const statusWith = async (gateway: GatewayProcess, key: string): Promise<number> => {
  const headers = { authorization: `Bearer ${key}` };
  return (await gateway.post("/v1/embeddings", { model: embeddingModel, input: "a" }, headers))
    .status;
};

/** Without the API key that `post` of a gateway sends. */
const postAs = (url: string, body: object, headers: Record<string, string>): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

testWithPostgres(
  "a key that is created or revoked in the database is accepted or refused by every replica, and the setup link and a console session of one replica are valid on the others until the user is disabled",
  async () => {
    using folder = temporaryFolder();
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const options = { folder: folder.path, databaseUrl, env: { VEXEL_CONSOLE: "on" } };
    const a = await start({ ...options, name: "a" });
    const b = await start({ ...options, name: "b" });
    const env = { DATABASE_URL: databaseUrl, VEXEL_SECRET: sharedSecret };
    const command = (...args: string[]) => vexel(["keys", ...args], { cwd: folder.path, env });
    const created = await command("create", "--name", "shared");
    expect(created.code).toBe(0);
    const key = created.out.trim();
    const allRespond = (status: number) => async () =>
      (await Promise.all([a, b].map((each) => statusWith(each, key)))).every(
        (found) => found === status,
      );
    await until(allRespond(200));
    expect((await command("list")).out).toContain("shared");
    expect((await command("revoke", "shared")).code).toBe(0);
    await until(allRespond(401));

    const token = /\/console\/setup#(\S+)/.exec(b.output())?.[1];
    const setUp = await a.post("/admin/api/session/setup", {
      token,
      name: "ada",
      password: "correct horse battery staple",
    });
    expect(setUp.status).toBeLessThan(300);
    const cookie = cookieOf(setUp);
    const session = await fetch(`${b.url}/admin/api/session`, { headers: { cookie } });
    expect(session.status).toBe(200);
    const { csrf_token: csrf, user } = (await session.json()) as Session;
    expect(user.name).toBe("ada");

    // A user who is disabled on one replica is refused on the other, with a session and with a token.
    const asAda = { cookie, "x-csrf-token": csrf };
    const bob = { name: "bob", password: "correct horse battery staple" };
    const added = await postAs(`${a.url}/admin/api/users`, { ...bob, role: "admin" }, asAda);
    const { id } = (await added.json()) as User;
    const signedIn = await b.post("/admin/api/session", bob);
    const bobCookie = cookieOf(signedIn);
    const bobSession = (await signedIn.json()) as Session;
    const made = await postAs(
      `${b.url}/admin/api/account/tokens`,
      { name: "script", expires_in_days: 1, password: bob.password },
      { cookie: bobCookie, "x-csrf-token": bobSession.csrf_token },
    );
    const { token: script } = (await made.json()) as CreatedAdminToken;
    const statusesOnB = async () =>
      Promise.all(
        [{ cookie: bobCookie }, { authorization: `Bearer ${script}` }].map(
          async (headers) => (await fetch(`${b.url}/admin/api/users`, { headers })).status,
        ),
      );
    expect(await statusesOnB()).toEqual([200, 200]);
    await fetch(`${a.url}/admin/api/users/${id}`, {
      method: "PATCH",
      headers: { ...asAda, "content-type": "application/json" },
      body: JSON.stringify({ disabled: true }),
    });
    expect(await statusesOnB()).toEqual([401, 401]);
  },
);

testWithPostgres(
  "a gateway starts without its database, accepts the last known keys, and applies changes when it returns",
  async () => {
    using folder = temporaryFolder();
    const server = await sharedPostgres();
    try {
      const databaseUrl = await server.createDatabase();
      const env = { DATABASE_URL: databaseUrl, VEXEL_SECRET: sharedSecret };
      const command = (...args: string[]) => vexel(["keys", ...args], { cwd: folder.path, env });
      const key = (await command("create", "--name", "known")).out.trim();
      const replica = { folder: folder.path, name: "a", databaseUrl };
      const first = await start(replica);
      await until(async () => (await statusWith(first, key)) === 200);
      first.kill("SIGTERM");
      await first.exited;
      await server.stop();
      const again = await start(replica);
      expect(again.output()).toContain("database-unavailable");
      expect(await statusWith(again, key)).toBe(200);
      await server.start();
      expect((await command("revoke", "known")).code).toBe(0);
      await until(async () => (await statusWith(again, key)) === 401);
    } finally {
      // The other tests of this process use it as well.
      if (server.pid === undefined) await server.start();
    }
  },
);

testWithPostgres("a first start without the database is refused with the reason", async () => {
  using folder = temporaryFolder();
  const url = `postgres://vexel:pass-word@127.0.0.1:${await freePort()}/none`;
  const env = { VEXEL_SECRET: sharedSecret, VEXEL_DATA: join(folder.path, "data"), PORT: "0" };
  const ended = await vexelProcess(["serve"], {
    cwd: folder.path,
    env: { ...env, DATABASE_URL: url },
  });
  expect(ended.code).toBe(1);
  expect(ended.err).toContain("The database (DATABASE_URL) cannot be reached");
  expect(ended.err).toContain("no copy of an earlier configuration");
  expect(ended.err).not.toContain("pass-word");
});

testWithPostgres("a database without the shared secret is refused", async () => {
  using folder = temporaryFolder();
  const env = { DATABASE_URL: "postgres://127.0.0.1/none", PORT: "0" };
  const ended = await vexelProcess(["serve"], { cwd: folder.path, env });
  expect(ended.code).toBe(2);
  expect(ended.err).toContain("DATABASE_URL is set without VEXEL_SECRET");
});
