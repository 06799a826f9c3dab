/** The list of the keys of one project. */
import { afterAll, expect, test } from "bun:test";
import type { ApiKey, Page } from "../../contract/admin.ts";
import { asOperator } from "../events/webhooks-fixture.ts";
import { signInAs, startReads } from "./reads-fixture.ts";

const setup = startReads();
afterAll(() => setup.close());

test("the keys of a project are those of the file and of the store, for users who see the project", async () => {
  const api = `${setup.gateway.url}/admin/api`;
  for (const project of ["alpha", "beta"]) {
    const created = await asOperator(api, "/keys", "POST", { name: `stored-${project}`, project });
    expect(created.status).toBe(201);
  }
  const namesOf = ({ data }: Page<ApiKey>) => data.map(({ name }) => name).sort();
  const member = await signInAs(setup, { name: "Dev", role: "developer", projects: ["alpha"] });
  const seen = async (path: string) => namesOf((await (await member(path)).json()) as Page<ApiKey>);
  const alpha = ["=alpha", "stored-alpha"];
  expect(namesOf(await setup.admin<Page<ApiKey>>("/keys?project=alpha"))).toEqual(alpha);
  expect(namesOf(await setup.admin<Page<ApiKey>>("/keys?project=none"))).toEqual([]);
  expect(await seen("/keys?project=alpha")).toEqual(alpha);
  expect(await seen("/keys?project=beta")).toEqual([]);
});
