/** The body timeout ends a wait exactly when it is over, and a wait that has ended keeps no timer. */
import { expect, test } from "bun:test";
import { createBodyTimeout } from "../../server/http/body-timeout.ts";

const clock = () => performance.now();
const broken = (error: unknown) => error;

test("a body below the minimum rate is refused as soon as its time is over", async () => {
  const timeout = createBodyTimeout({ idleMs: 4000, minRate: 1000, clock });
  const { promise: never } = Promise.withResolvers<void>();
  const began = clock();
  const refusal = await timeout
    .wait(never, broken, { bytes: 100, waitedMs: 4080 })
    .then(String, ({ message }) => message);
  expect(refusal).toContain("arrived too slowly");
  // 20 ms are left. A check at an interval would be up to one interval late.
  expect(clock() - began).toBeWithin(19, 500);
});

test("a wait that has ended leaves no timer, whether its chunk arrived or the client disconnected", async () => {
  const source = `
    const { createBodyTimeout } = await import(${JSON.stringify(`${import.meta.dir}/../../server/http/body-timeout.ts`)});
    const timeout = createBodyTimeout({ idleMs: 60_000, minRate: 0, clock: () => performance.now() });
    const progress = { bytes: 0, waitedMs: 0 };
    await timeout.wait(Promise.resolve(1), (error) => error, progress);
    await timeout.wait(Promise.reject(new Error("gone")), (error) => error, progress).catch(() => 0);
    console.log("waited", progress.waitedMs < 1000);`;
  // A timer that is left keeps the process alive.
  const child = Bun.spawn([process.execPath, "-e", source], { stdout: "pipe", timeout: 20_000 });
  expect(await child.exited).toBe(0);
  expect(await new Response(child.stdout).text()).toBe("waited true\n");
});
