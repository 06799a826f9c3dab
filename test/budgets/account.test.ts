/** The laws of accounts, for those of one process, and what an account admits while Redis is away. */
import { expect, test } from "bun:test";
import { Account } from "../../server/ledger/account.ts";
import { accountLaws } from "./account.laws.ts";

accountLaws("local", () => undefined);

test("an end user whose first request comes while Redis is away has a share of what is left, not of the limit", () => {
  const account = new Account({ scope: "end_user", id: "ci\0ada", period: "total" });
  account.useForBudget({
    isReachable: false,
    replicas: 3,
    isReporting: () => true,
    accountChanged: () => undefined,
    entryOpened: () => undefined,
    entryClosed: () => undefined,
    forget: () => undefined,
  });
  const admits = (nanos: number) => account.reservable({ limit: 1000, most: nanos, likely: nanos });
  // The ledger's database is read after the account has been opened.
  account.raise(900);
  expect(admits(34)).toBe("nothing");
  expect(admits(33)).toBe("maximum");
  // What the other replicas spend from now on is of their own shares.
  account.raise(960);
  expect(admits(33)).toBe("maximum");
});
