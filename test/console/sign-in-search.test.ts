/** The page that the sign-in leads to. */
import { expect, test } from "bun:test";
import { readSignInSearch } from "../../console/src/features/sign-in/sign-in-search.ts";
import { otherSites } from "./other-sites.ts";

test("the sign-in leads to paths of the console", () => {
  for (const next of ["/", "/keys", "/requests?model=a%2Fb&range=7d", "/model/a/b#targets"]) {
    expect(readSignInSearch({ next }).next).toBe(next);
  }
});

test.each(otherSites)("the sign-in does not lead to %p", (next) => {
  // The router keeps the value of a parameter that is not in the result.
  expect(readSignInSearch({ next })).toEqual({ next: undefined, oidc: undefined });
  expect(readSignInSearch({ next })).toContainKey("next");
});

test.each([[["https://evil.example"]], [{ href: "https://evil.example" }], [7], [true], [null]])(
  "the sign-in does not read %p as a path",
  (next) => {
    expect(readSignInSearch({ next }).next).toBeUndefined();
  },
);

test("the sign-in page shows only outcomes that it knows", () => {
  expect(readSignInSearch({ oidc: "refused" }).oidc).toBe("refused");
  expect(readSignInSearch({ oidc: "<b>" })).toEqual({ next: undefined, oidc: undefined });
});
