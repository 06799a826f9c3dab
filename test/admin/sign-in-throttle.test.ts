/** The sign-in throttle: which attempts count together. */
import { expect, test } from "bun:test";
import { SignInThrottle } from "../../server/admin/sign-in/sign-in-throttle.ts";

/** Whether 100 failures from `first` make an attempt from `second` wait. */
function countTogether(first: string, second: string): boolean {
  const throttle = new SignInThrottle(() => 0);
  for (let failure = 0; failure < 100; failure++) throttle.fail({ address: first });
  try {
    throttle.check({ address: second });
    return false;
  } catch {
    return true;
  }
}

test("failures from one IPv6 /64 network count together, however its addresses are written", () => {
  for (const [first, second] of [
    ["2001:db8::1", "2001:db8::2"],
    ["2a01:4f8:c17::1", "2a01:4f8:c17:0:aaaa:bbbb:cccc:dddd"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::9"],
  ] as const) {
    expect(countTogether(first, second)).toBe(true);
  }
});

test("failures from different networks count apart", () => {
  for (const [first, second] of [
    ["2001:db8::1", "2001:db8:0:1::1"],
    ["2001:db8:1:2::1", "2001:db8:1:3::1"],
    ["192.0.2.1", "192.0.2.2"],
    ["::ffff:192.0.2.1", "::ffff:192.0.2.2"],
  ] as const) {
    expect(countTogether(first, second)).toBe(false);
  }
});
