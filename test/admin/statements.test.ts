/** The statements of a project: what it cost in each closed month. The sums are held against SQL by laws of the ledger. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page, Statement } from "../../contract/admin.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { asOperator } from "../events/webhooks-fixture.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { signInAs, startReads } from "./reads-fixture.ts";

const setup = startReads();
const store = new SqliteLedgerStore({ folder: setup.gateway.folder, maxBytes: 0 });
beforeAll(() => store.append(rows));
afterAll(async () => {
  await store.close();
  await setup.close();
});

const now = new Date();
const monthAt = (before: number): Date =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - before, 10, 12));
const nameOf = (date: Date): string => date.toISOString().slice(0, 7);
const row = (before: number, values: Partial<LedgerRow>) =>
  ledgerRow(monthAt(before).getTime(), {
    project: "alpha",
    keyId: "key_a",
    model: "vectors",
    ...values,
  });

const rows = [
  row(2, { cost: 0.25, tags: "team:a,env:prod" }),
  row(2, { cost: 0.5, tags: "team:a" }),
  row(2, { cost: 1 }),
  row(2, { cost: null, estimatedCost: null }),
  row(3, { cost: null, estimatedCost: 2 }),
  row(2, { cost: 64, project: "beta" }),
];

const list = () => setup.admin<Page<Statement>>("/projects/alpha/statements");
const download = async (path: string) => {
  const response = await asOperator(setup.gateway.url, `/admin/api${path}`);
  return { response, text: await response.text() };
};

test("each closed month with requests has a statement that is never changed", async () => {
  await setup.embed("alpha");
  const before = await list();
  expect(before.data.map(({ created_at, ...statement }) => statement)).toEqual([
    {
      object: "statement",
      project: "alpha",
      month: nameOf(monthAt(2)),
      requests: 4,
      requests_without_cost: 1,
      cost: 1.75,
      estimated_cost: 0,
      charged: 1.75,
    },
    {
      object: "statement",
      project: "alpha",
      month: nameOf(monthAt(3)),
      requests: 1,
      requests_without_cost: 0,
      cost: 0,
      estimated_cost: 2,
      charged: 2,
    },
  ]);
  const path = `/projects/alpha/statements/${nameOf(monthAt(2))}`;
  const { response, text } = await download(path);
  expect(response.headers.get("content-disposition")).toContain(
    `statement-alpha-${nameOf(monthAt(2))}.csv`,
  );
  expect(text.split("\r\n")).toEqual([
    "key_id,key,model,tags,requests,requests_without_cost,cost,estimated_cost,charged",
    "key_a,,vectors,,2,1,1,0,1",
    "key_a,,vectors,team:a,1,0,0.5,0,0.5",
    `key_a,,vectors,"team:a,env:prod",1,0,0.25,0,0.25`,
    "",
  ]);
  // A row of a replica that was down for days.
  await store.append([row(2, { cost: 8 })]);
  expect(await list()).toEqual(before);
  expect((await download(path)).text).toBe(text);
});

test("the current month has no statement, and neither has a month without requests", async () => {
  for (const month of [nameOf(now), nameOf(monthAt(1)), "2026-13", "x"]) {
    const { response } = await download(`/projects/alpha/statements/${month}`);
    expect([month, response.status]).toEqual([month, 404]);
  }
});

test("a user sees the statements of own projects only", async () => {
  const user = await signInAs(setup, { name: "Bea", role: "viewer", projects: ["beta"] });
  const own = await user("/projects/beta/statements");
  expect(((await own.json()) as Page<Statement>).data).toHaveLength(1);
  for (const path of ["/projects/alpha/statements", "/projects/none/statements"])
    expect((await user(path)).status).toBe(404);
});
