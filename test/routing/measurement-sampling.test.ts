/** Measurement sampling: few requests to a healthy only target are measured, and all requests to an unhealthy one. */
import { expect, test } from "bun:test";
import { MeasurementSampling } from "../../server/routing/health/sampling.ts";
import { VirtualTime } from "../fuzz/routing-simulation.ts";

/** Simulates requests at equal intervals, and returns how many were measured. */
async function simulate(
  sampling: MeasurementSampling,
  requests: number,
  everyMs: number,
): Promise<number> {
  const time = new VirtualTime();
  let measured = 0;
  for (let request = 0; request < requests; request++) {
    time.start(request * everyMs, () => {
      if (!sampling.due) return;
      sampling.countMeasured(time);
      measured++;
    });
  }
  await time.run();
  return measured;
}

test("the first 32 requests are all measured, so that the latency is soon known", async () => {
  expect(await simulate(new MeasurementSampling(), 32, 0.1)).toBe(32);
});

test("after that ten requests per 100 ms are measured, out of a thousand", async () => {
  const sampling = new MeasurementSampling();
  await simulate(sampling, 32, 0);
  expect(await simulate(sampling, 10_000, 0.1)).toBeWithin(90, 101);
});

test("at low traffic every request is measured", async () => {
  const sampling = new MeasurementSampling();
  await simulate(sampling, 32, 0);
  expect(await simulate(sampling, 1000, 12)).toBe(1000);
});

test("after a failure every request is measured until one succeeds", async () => {
  const sampling = new MeasurementSampling();
  await simulate(sampling, 32, 0);
  sampling.measureAll();
  expect(await simulate(sampling, 50, 1)).toBe(50);
  sampling.measureSome();
  expect(await simulate(sampling, 50, 1)).toBe(10);
});
