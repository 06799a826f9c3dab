/** Measurement sampling: few requests to a healthy only target are measured, and all requests to an unhealthy one. */
import { expect, test } from "bun:test";
import { MeasurementSampling } from "../../server/routing/health/sampling.ts";
import { VirtualTime } from "../fuzz/scheduling-world.ts";

/** So many calls at even distances. Gives how many were measured. */
async function live(
  sampling: MeasurementSampling,
  calls: number,
  everyMs: number,
): Promise<number> {
  const time = new VirtualTime();
  let measured = 0;
  for (let call = 0; call < calls; call++) {
    time.start(call * everyMs, () => {
      if (!sampling.due) return;
      sampling.countMeasured(time);
      measured++;
    });
  }
  await time.run();
  return measured;
}

test("the first are all measured, so that it is soon known what is usual", async () => {
  expect(await live(new MeasurementSampling(), 32, 0.1)).toBe(32);
});

test("then ten in a tenth of a second are, of a thousand", async () => {
  const sampling = new MeasurementSampling();
  await live(sampling, 32, 0);
  expect(await live(sampling, 10_000, 0.1)).toBeWithin(90, 101);
});

test("where there are few calls, all are", async () => {
  const sampling = new MeasurementSampling();
  await live(sampling, 32, 0);
  expect(await live(sampling, 1000, 12)).toBe(1000);
});

test("after a failure all are, until one is answered", async () => {
  const sampling = new MeasurementSampling();
  await live(sampling, 32, 0);
  sampling.measureAll();
  expect(await live(sampling, 50, 1)).toBe(50);
  sampling.measureSome();
  expect(await live(sampling, 50, 1)).toBe(10);
});
