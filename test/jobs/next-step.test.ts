/** The next step of a range and of a line, for every state that a row can have. */
import { expect, test } from "bun:test";
import { type Answer, cancelMs, nextLineStep, nextStep } from "../../server/jobs/next-step.ts";

const minute = 60_000;
/** In which a change of the configuration reaches every replica. */
const rolloutMs = 10 * minute;
const start = Date.UTC(2026, 10, 19);

type Around = Parameters<typeof nextStep>[1];

const payers = ["present", "moved", "revoked", "gone"] as const;
const phases = ["creating", "created", "canceling", "delivering"] as const;
const endings = [null, "cancelled", "expired", "failed"] as const;
const ages = [0, minute, 3 * minute, cancelMs + minute, 24 * 60 * minute];

/** Every state of a range whose batch the vendor may have. */
function* states() {
  for (const phase of phases)
    for (const ending of endings)
      for (const age of ages)
        for (const payer of payers) {
          const cancellingAt = ending === "cancelled" ? start : null;
          const job = { ending, cancellingAt, deadline: start + 10 * minute };
          const range = { phase, phaseSince: start, readings: 0, job };
          const around = { hasVendor: true, payer, now: start + age };
          yield {
            range,
            step: (answer?: Answer) => nextStep(range, { ...around, answer } as Around),
          };
        }
}

const error = new Error("It does not respond.");

/** What each request to the vendor may come to. */
const answers: Readonly<Record<"find" | "poll" | "cancel" | "abandon", readonly Answer[]>> = {
  find: [{ kind: "found" }, { kind: "missing" }, { kind: "unresponsive" }],
  poll: [
    { kind: "running" },
    { kind: "ended" },
    { kind: "ended", isQueueFull: true },
    { kind: "unknown" },
    { kind: "unresponsive" },
  ],
  cancel: [{ kind: "canceling" }, { kind: "canceling", error }],
  abandon: [{ kind: "canceling" }, { kind: "canceling", error }],
};
const asks = (step: string): step is keyof typeof answers => step in answers;

test("a vendor is asked the same at most once for each claim, whatever it says", () => {
  for (const { step } of states()) {
    const follow = (asked: readonly string[], answer?: Answer): void => {
      const next = step(answer);
      expect(asked).not.toContain(next);
      if (asks(next)) for (const each of answers[next]) follow([...asked, next], each);
    };
    follow([]);
  }
});

test("a batch is created only if the vendor's list has certainly not got it, and its job goes on", () => {
  for (const { range, step } of states())
    for (const answer of Object.values(answers).flat())
      if (step(answer) === "create") {
        expect(range).toMatchObject({ phase: "creating", job: { ending: null } });
        expect(answer.kind).toBe("missing");
      }
});

test("a job that ended long ago does not wait for a vendor that does not say whether it has the batch", () => {
  const job = { ending: "cancelled", cancellingAt: start, deadline: start } as const;
  const range = { phase: "creating", phaseSince: start, readings: 0, job } as const;
  const at = (now: number, answer: Answer) =>
    nextStep(range, { hasVendor: true, payer: "present", answer, now });
  expect(at(start + cancelMs, { kind: "unresponsive" })).toBe("wait");
  expect(at(start + cancelMs + 1, { kind: "unresponsive" })).toBe("giveUp");
  expect(at(start + cancelMs + 1, { kind: "missing" })).toBe("run");
});

test("the vendor's upstream is deleted: what may be billed is charged, and nothing is asked", () => {
  for (const { range } of states()) {
    const now = start + rolloutMs;
    const around = { hasVendor: false, payer: "present", answer: undefined, now } as const;
    expect(nextStep(range, around)).toBe("giveUp");
    for (const phase of ["planned", "uploaded"] as const)
      expect(nextStep({ ...range, phase }, around)).toBe(range.job.ending ? "run" : "refuse");
  }
});

test("a replica whose file is older than that of the others abandons no batch that another has just sent", () => {
  for (const { range } of states()) {
    const at = (now: number, around: Partial<Around>) =>
      nextStep(range, { hasVendor: true, payer: "present", answer: undefined, now, ...around });
    for (const around of [{ hasVendor: false }, { payer: "gone" }] as const) {
      expect(at(start + rolloutMs - 1, around)).toBe("waitForConfiguration");
      expect(at(start + rolloutMs, around)).not.toBe("waitForConfiguration");
    }
  }
});

test.each([
  ["is sent", {}, "send"],
  ["of a job that ends is not sent", { isEnding: true }, "skip"],
  ["of a job that is paused is left to a later process", { isPaused: true }, "stop"],
  [
    "is left to the next process when the gateway stops",
    { isStopping: true, isEnding: true },
    "stop",
  ],
  ["that was refused before fails", { line: { failure: error }, isEnding: true }, "fail"],
  [
    "that a vendor has run is delivered, although its job ends",
    { line: { vendor: {} }, isEnding: true },
    "send",
  ],
  [
    "whose operation an earlier process has begun is awaited",
    { earlier: { sent: 1, upstreamOperations: "[]" }, isPaused: true },
    "send",
  ],
  [
    "that an earlier process sent is not sent again",
    { earlier: { sent: 1, upstreamOperations: null } },
    "interrupted",
  ],
] as const)("a line %s", (_, state, step) => {
  const plain = {
    line: {},
    earlier: { sent: 0, upstreamOperations: null },
    isStopping: false,
    isPaused: false,
    isEnding: false,
  };
  expect(nextLineStep({ ...plain, ...state })).toBe(step);
});
