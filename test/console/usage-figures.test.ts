/** Figures of the console: changes of rates and amounts, shares of errors, money, and the preselected model. */
import { expect, test } from "bun:test";
import { errorRate, refusedShare } from "../../console/src/api/outcomes.ts";
import { preselected } from "../../console/src/features/models/preselected.ts";
import { changeOf, changeOfRate } from "../../console/src/features/usage/change.ts";
import { dollars } from "../../console/src/lib/format.ts";
import { formatDollars } from "../../contract/format-dollars.ts";

test("the change of a rate is in points, and that of an amount is relative", () => {
  expect(changeOfRate(0.176, 0.034)).toEqual({ text: "14.2", isUp: true, isSame: false });
  expect(changeOfRate(0.1, 0)).toEqual({ text: "10.0", isUp: true, isSame: false });
  expect(changeOfRate(0.1, 0.1001)).toMatchObject({ isSame: true });
  expect(changeOfRate(0.1, null)).toBeUndefined();
  expect(changeOf(150, 100)).toMatchObject({ text: "50%", isUp: true });
});

test("refused requests are no part of the error rate", () => {
  const sums = { requests: 100, errors: 53, refused: 50 };
  expect(errorRate(sums)).toBe(0.06);
  expect(refusedShare(sums)).toBe(0.5);
  expect(errorRate({ requests: 5, errors: 5, refused: 5 })).toBeNull();
});

test("an amount of money is written in one way, on the server and in the console", () => {
  const amounts = [7.271, 5, 0.0312, 0.5, 0.00000026, 0, 1234.5];
  const written = ["$7.27", "$5.00", "$0.0312", "$0.50", "$0.00000026", "$0.00", "$1,234.50"];
  expect(amounts.map(formatDollars)).toEqual(written);
  expect(amounts.map(dollars)).toEqual(written);
});

test("a playground preselects no model that its vendor has shut down, if there is another", () => {
  const [ended, ending, open] = ["2020-01-01", "2999-01-01", null].map((ends_on) => ({ ends_on }));
  expect(preselected([ended!, ending!])).toBe(ending!);
  expect(preselected([ended!, open!])).toBe(open!);
  expect(preselected([ended!])).toBe(ended!);
  expect(preselected([])).toBeUndefined();
});
