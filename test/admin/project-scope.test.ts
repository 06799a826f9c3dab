/** Lists for one project: of those that the user sees. */
import { afterAll, expect, test } from "bun:test";
import type { Overview, Page, ShownBudget, ShownEvent, ShownLimit } from "../../contract/admin.ts";
import { until } from "../until.ts";
import { signInAs, startReads } from "./reads-fixture.ts";

const setup = startReads();
afterAll(() => setup.close());

test("the overview, budgets and limits of a project leave out all others, also of a user who sees both", async () => {
  for (const key of ["alpha", "beta", "beta", "none"] as const) await setup.embed(key);
  await until(async () => (await setup.admin<Overview>("/overview")).totals.requests === 4);
  const member = await signInAs(setup, { name: "Dev", role: "viewer", projects: ["alpha"] });
  const seen = async <T>(path: string) => (await (await member(path)).json()) as T;
  expect((await setup.admin<Overview>("/overview?project=beta")).totals.requests).toBe(2);
  expect((await seen<Overview>("/overview?project=alpha")).totals.requests).toBe(1);
  expect((await seen<Overview>("/overview?project=beta")).totals.requests).toBe(0);
  const owners = ({ data }: Page<ShownBudget | ShownLimit>) => data.map(({ id }) => id);
  expect(owners(await setup.admin("/budgets?project=alpha"))).toEqual(["alpha", "file:=alpha"]);
  expect(owners(await setup.admin("/limits?project=alpha"))).toEqual(["alpha", "file:=alpha"]);
  expect(owners(await seen("/budgets?project=beta"))).toEqual([]);
});

test("the events of a project are those of its budget and keys, of a key its own, of an upstream its targets", async () => {
  const { events } = setup.gateway;
  const spent = { period: "day", percent: 50, spent: 1, budget: 2 } as const;
  events.emit({
    type: "budget.threshold",
    data: { scope: "project", id: "alpha", name: "alpha", ...spent },
  });
  events.emit({
    type: "budget.threshold",
    data: { scope: "key", id: "alpha", name: "alpha", ...spent },
  });
  events.emit({
    type: "key.created",
    data: { id: "key_1", name: "alpha", project: "alpha", models: ["*"] },
  });
  events.emit({
    type: "key.created",
    data: { id: "key_2", name: "b", project: 'al"pha', models: ["*"] },
  });
  events.emit({
    type: "target.ejected",
    data: { upstream: "alpha", target_model: "m", reason: "r" },
  });
  const found = async (query: string) =>
    (await setup.admin<Page<ShownEvent>>(`/events?${query}`)).data.map(({ type, data }) => [
      type,
      data.scope ?? data.id,
    ]);
  await until(async () => (await found("limit=9")).length >= 5);
  expect(await found("project=alpha")).toEqual([
    ["key.created", "key_1"],
    ["budget.threshold", "project"],
  ]);
  expect(await found(`project=${encodeURIComponent('al"pha')}`)).toEqual([
    ["key.created", "key_2"],
  ]);
  expect(await found("project=Alpha")).toEqual([]);
  expect(await found("key=key_2")).toEqual([["key.created", "key_2"]]);
  expect(await found("upstream=alpha")).toEqual([["target.ejected", undefined]]);
  const both = setup.admin("/events?project=alpha&key=key_1");
  await expect(both).rejects.toThrow("only one of project, key and upstream");
});
