/** Budgets of end users and tags whose sums are in a database: they are read before a request needs them. */
import { expect, test } from "bun:test";
import type { BudgetedOwner } from "../../contract/limits-and-budgets.ts";
import { createBudgets } from "../../server/budgets/budgets.ts";
import { OwnerBudgets } from "../../server/budgets/owner-budgets.ts";
import { Accounts } from "../../server/ledger/accounts.ts";
import { toNanos } from "../../server/lib/nano-dollars.ts";
import type { SpendKey } from "../../server/storage/ports/ledger-store.ts";
import type { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { SharedSpend } from "../../server/storage/postgres/shared-spend.ts";
import { budgeted, certain, noon, refusal, reserveIn, withRow } from "./budgets-fixture.ts";

function createLoadedBudgets(stored: Readonly<Record<string, number>>) {
  const loads: string[][] = [];
  const accounts = new Accounts({
    readSpent: ({ scope }) => (scope === "key" || scope === "project" ? 0 : undefined),
    clock: () => 0,
  });
  const owners = new OwnerBudgets({
    accounts,
    loadEndUsersAndTags: async (unknown) => {
      const names = unknown.map(({ scope, id, period }) => `${scope} ${id} ${period}`);
      loads.push(names);
      accounts.raise(
        unknown.map(({ scope, id, period }, at) => {
          const nanos = toNanos(stored[names[at] as string] ?? 0);
          return { scope, id, period, nanos };
        }),
      );
    },
  });
  const budgets = createBudgets({ owners, emit: () => undefined });
  const reserve = async (charged: readonly BudgetedOwner[], dollars: number) => {
    await budgets.load(charged, noon);
    const reservation = reserveIn(budgets, charged, certain(dollars), noon);
    return withRow(reservation, accounts, charged, noon);
  };
  return { budgets, loads, reserve, accounts };
}

const user = budgeted({ day: 1, month: 5 }, "end_user", "shop\teu_1");

test("the sums of an end user are read once, and what was spent before counts", async () => {
  const { budgets, loads, reserve } = createLoadedBudgets({
    "end_user shop\teu_1 2026-11": 4.5,
  });
  (await reserve([user], 0.25)).settle(0.25);
  expect(loads).toEqual([["end_user shop\teu_1 2026-11-15", "end_user shop\teu_1 2026-11"]]);
  (await reserve([user], 0.25)).settle(0.25);
  expect(budgets.load([user], noon)).toBeUndefined();
  expect(loads).toHaveLength(1);
  expect(refusal(() => reserveIn(budgets, [user], certain(0.25), noon)).message).toContain(
    "the monthly budget of the end user",
  );
});

test("a sum that has not been needed for a minute is read again", async () => {
  const { loads, reserve, accounts } = createLoadedBudgets({});
  await reserve([user], 0.1);
  for (const account of accounts) account.isRead = false;
  await reserve([user], 0.1);
  expect(loads).toHaveLength(2);
});

test("keys and projects need no sums of a database", () => {
  const { budgets } = createLoadedBudgets({});
  const owners = [budgeted({ day: 1 }), budgeted({ total: 1 }, "project", "shop")];
  expect(budgets.load(owners, noon)).toBeUndefined();
});

test("what an end user with a budget has spent is read from the database", async () => {
  const query = async (_: string, [keys]: readonly string[] = []) => ({
    rows: (JSON.parse(keys ?? "") as SpendKey[]).map((key) => ({ ...key, nanos: 7 })),
  });
  const database = new SharedSpend({ query } as unknown as PostgresDatabase, () => noon);
  const accounts = new Accounts({ readSpent: () => undefined, clock: () => 0 });
  const owners = new OwnerBudgets({
    accounts,
    loadEndUsersAndTags: async (keys) => accounts.raise(await database.readNamed(keys)),
  });
  const budgets = owners.of([user], noon);
  await owners.load([user], noon);
  expect(budgets.map(({ account }) => account.spent)).toEqual([7, 7]);
});
