/** The sign-in throttle: which attempts count together. */
import { expect, test } from "bun:test";
import { SignInThrottle } from "../../server/admin/sign-in/sign-in-throttle.ts";

/** Whether many attempts from `first` make an attempt from `second` wait. */
async function countTogether(first: string, second: string): Promise<boolean> {
  let isWaiting = false;
  const sleep = async (): Promise<void> => {
    isWaiting = true;
  };
  const throttle = new SignInThrottle({ now: () => 0, sleep });
  for (let attempt = 0; attempt < 240; attempt++) await throttle.waitInLine(first);
  expect(isWaiting).toBe(false);
  await throttle.waitInLine(second);
  return isWaiting;
}

test("failures from one IPv6 /64 network count together, however its addresses are written", async () => {
  for (const [first, second] of [
    ["2001:db8::1", "2001:db8::2"],
    ["2a01:4f8:c17::1", "2a01:4f8:c17:0:aaaa:bbbb:cccc:dddd"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::9"],
  ] as const) {
    expect(await countTogether(first, second)).toBe(true);
  }
});

test("failures from different networks count apart", async () => {
  for (const [first, second] of [
    ["2001:db8::1", "2001:db8:0:1::1"],
    ["2001:db8:1:2::1", "2001:db8:1:3::1"],
    ["192.0.2.1", "192.0.2.2"],
    ["::ffff:192.0.2.1", "::ffff:192.0.2.2"],
  ] as const) {
    expect(await countTogether(first, second)).toBe(false);
  }
});

test("a flood of sign-ins from one address leaves a turn for a user behind the same address", async () => {
  let now = 0;
  const sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  const sleep = (ms: number) =>
    new Promise<void>((wake) => void sleepers.push({ at: now + ms, wake }));
  const throttle = new SignInThrottle({ now: () => now, sleep });
  let floodAttempts = 0;
  const flood = async (): Promise<void> => {
    while (now < 60_000) {
      await throttle.waitInLine("192.0.2.1");
      floodAttempts++;
    }
  };
  for (let connection = 0; connection < 15; connection++) void flood();
  await Bun.sleep(0);
  expect(floodAttempts).toBe(240);
  for (let attempt = 0; attempt < 5; attempt++) {
    const startedAt = now;
    let isMyTurn = false;
    void throttle.waitInLine("192.0.2.1").then(() => {
      isMyTurn = true;
    });
    while (!isMyTurn) {
      const next = sleepers.shift();
      now = next?.at ?? now;
      next?.wake();
      await Bun.sleep(0);
    }
    expect(now - startedAt).toBeLessThanOrEqual(5_000);
  }
  // Four per second.
  expect(floodAttempts).toBeLessThanOrEqual(240 + 4 * 25);
});
