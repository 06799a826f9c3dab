/** Replicas whose clocks differ. */
import { afterAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFake } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import { sharedPostgres, testWithPostgres } from "../storage/postgres-server.ts";
import { cookieOf, replicaStarter } from "./replica-fixture.ts";

const fake = startFake();
afterAll(() => fake.close());
const start = replicaStarter(fake.url);

testWithPostgres("a replica with a wrong clock ends no session of other replicas", async () => {
  using folder = temporaryFolder();
  const databaseUrl = await (await sharedPostgres()).createDatabase();
  const options = { folder: folder.path, databaseUrl, env: { VEXEL_CONSOLE: "on" } };
  const skew = join(folder.path, "skew.ts");
  const monthMs = 30 * 24 * 60 * 60_000;
  writeFileSync(skew, `const now = Date.now; Date.now = () => now() + ${monthMs};`);
  const right = await start({ ...options, name: "right" });
  const wrong = await start({ ...options, name: "wrong", preload: skew });
  const token = /\/console\/setup#(\S+)/.exec(right.output())?.[1];
  const user = { name: "ada", password: "correct horse battery staple" };
  const first = cookieOf(await right.post("/admin/api/session/setup", { token, ...user }));
  // A sign-in deletes expired sessions.
  const signedIn = await wrong.post("/admin/api/session", user);
  expect(signedIn.status).toBe(200);
  for (const cookie of [first, cookieOf(signedIn)]) {
    for (const { url } of [right, wrong]) {
      const session = await fetch(`${url}/admin/api/session`, { headers: { cookie } });
      expect(session.status).toBe(200);
    }
  }
});
