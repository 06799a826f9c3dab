/** Embedding lines of jobs step back while clients wait for responses. */
import { expect, test } from "bun:test";
import { createPace } from "../../server/jobs/waits.ts";

const setUp = () => {
  let isServing = true;
  const slept: number[] = [];
  const pace = createPace({
    isServing: () => isServing,
    clock: () => 1000,
    timers: {
      start: (ms, fire) => {
        slept.push(ms);
        fire();
      },
      stop: () => undefined,
    },
    stopping: new AbortController().signal,
  });
  return {
    pace,
    slept,
    end: () => {
      isServing = false;
    },
  };
};

test("while clients wait, groups of lines begin one after the other, with time in between", async () => {
  const { pace, slept } = setUp();
  for (let group = 0; group < 4; group++) await pace();
  expect(slept).toEqual([25, 50, 75]);
});

test("without clients, groups of lines begin at once", async () => {
  const { pace, slept, end } = setUp();
  end();
  for (let group = 0; group < 4; group++) await pace();
  expect(slept).toEqual([]);
});
