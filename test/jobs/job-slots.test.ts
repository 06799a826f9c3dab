/** Who gets the slots of a process for lines of jobs: projects in turns, and within a project its API keys. */
import { expect, test } from "bun:test";
import { JobSlots } from "../../server/jobs/job-slots.ts";
import type { JobOwner } from "../../server/storage/sql/stored-job.ts";

const keyOf = (name: string): JobOwner => {
  const [project = "", keyId = ""] = name.split(" ");
  return { owner: `project:${project}`, keyId: `${project}-${keyId}` };
};

/** Keys that always have another line. */
function startSlots(max: number) {
  const slots = new JobSlots(max);
  const held: JobOwner[] = [];
  const give = (...names: string[]): string[] => {
    const waiting = names.map(keyOf);
    slots.setWaiting(waiting);
    const given: string[] = [];
    for (let next = slots.next(waiting); next; next = slots.next(waiting)) {
      slots.take(next);
      held.push(next);
      given.push(names[waiting.indexOf(next)] ?? "");
    }
    return given;
  };
  /** The oldest line of a key ends. */
  const end = (name: string): void => {
    const at = held.findIndex(({ keyId }) => keyId === keyOf(name).keyId);
    const [ended] = held.splice(at, 1);
    if (ended) slots.release(ended);
  };
  return { give, end };
}

const countOf = (given: readonly string[], name: string): number =>
  given.filter((each) => each === name).length;

test("one API key gets half of the slots, and a project that comes later finds the others free", () => {
  const { give } = startSlots(32);
  expect(give("a 1")).toHaveLength(16);
  expect(give("a 1")).toEqual([]);
  expect(give("a 1", "b 1")).toEqual(new Array(8).fill("b 1"));
  expect(give("a 1", "b 1", "c 1")).toEqual(new Array(4).fill("c 1"));
});

test("another API key of a project gets slots, and other projects still find some free", () => {
  const { give } = startSlots(32);
  expect(give("a 1")).toHaveLength(16);
  const ofMate = countOf(give("a 1", "a 2"), "a 2");
  expect(ofMate).toBeGreaterThan(0);
  expect(countOf(give("a 1", "a 2", "b 1"), "b 1")).toBeGreaterThan(0);
});

test("projects that wait at the same time get equal shares, however many keys they have", () => {
  const { give } = startSlots(40);
  const given = give("a 1", "a 2", "a 3", "a 4", "b 1", "b 2");
  const ofProject = (name: string) => given.filter((each) => each.startsWith(name)).length;
  expect(Math.abs(ofProject("a") - ofProject("b"))).toBeLessThanOrEqual(1);
  expect(Math.abs(countOf(given, "a 1") - countOf(given, "a 4"))).toBeLessThanOrEqual(1);
});

test("the only slot goes to projects in turns, and within a project to its keys in turns", () => {
  const { give, end } = startSlots(1);
  const given: string[] = [];
  for (let round = 0; round < 8; round++) {
    const [next = ""] = give("a 1", "a 2", "b 1");
    given.push(next);
    end(next);
  }
  expect(given).toEqual(["a 1", "b 1", "a 2", "b 1", "a 1", "b 1", "a 2", "b 1"]);
});

test("a project that comes again goes behind those that wait", () => {
  const { give, end } = startSlots(1);
  expect(give("a 1")).toEqual(["a 1"]);
  expect(give("b 1")).toEqual([]);
  expect(give("a 1", "b 1")).toEqual([]);
  end("a 1");
  expect(give("a 1", "b 1")).toEqual(["b 1"]);
});
