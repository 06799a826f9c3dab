/** Where the lines of a batch run, and how they are divided into batches of the vendor. */
import { describe, expect, test } from "bun:test";
import { chooseExecution, joinRanges } from "../../../server/batches/vendor/choose-execution.ts";
import type { Model } from "../../../server/config/snapshot.ts";
import type { Target } from "../../../server/upstream/contract.ts";

const target = (kind: string, tokenPrice?: number): Target => ({
  upstream: { id: kind, kind, headers: {}, options: {} },
  model: "m",
  ...(tokenPrice !== undefined && { tokenPrice }),
});

const modelWith = (targets: readonly Target[], batches?: Model["batches"]): Model => ({
  id: "model",
  kind: "embedding",
  targets,
  source: "yaml",
  ownedBy: "openai",
  maxImages: 1,
  ...(batches && { batches }),
});

const choose = (model: Model | undefined, requested?: Model["batches"]) =>
  chooseExecution({
    requested,
    operation: "embeddings",
    model,
    tokens: 1_000_000,
    imageDollars: 0,
    isSupported: () => true,
  });

describe("execution", () => {
  const openai = target("openai", 2);
  test("the client decides, else the model, else the lines run now", () => {
    expect(choose(modelWith([openai]))).toMatchObject({
      execution: "now",
      estimate: { now: 2, vendor: 1 },
    });
    expect(choose(modelWith([openai], "vendor"))).toMatchObject({ execution: "vendor" });
    expect(choose(modelWith([openai], "vendor"), "now")).toMatchObject({ execution: "now" });
    expect(choose(modelWith([openai], "now"), "cheapest")).toMatchObject({
      execution: "cheapest",
      target: openai,
    });
  });
  test("the cheapest way is now, if another target costs less than the vendor's batch", () => {
    const cheap = target("cohere", 0.5);
    expect(choose(modelWith([openai, cheap]), "cheapest")).toMatchObject({
      execution: "now",
      estimate: { now: 0.5, vendor: 1 },
    });
    expect(choose(modelWith([openai, cheap]), "vendor")).toMatchObject({ target: openai });
    const mistral = target("mistral", 1.5);
    expect(choose(modelWith([openai, mistral]), "cheapest")).toMatchObject({ target: mistral });
    for (const targets of [
      [target("mistral"), openai],
      [openai, target("mistral")],
    ])
      expect(choose(modelWith(targets), "vendor")).toMatchObject({ target: openai });
    expect(choose(modelWith([target("openai")]), "cheapest")).toMatchObject({
      execution: "cheapest",
      estimate: { now: null, vendor: null },
    });
  });
  test("without a vendor that has batches, the lines run now, or the batch is refused", () => {
    const cohere = modelWith([target("cohere", 1)]);
    expect(choose(cohere, "cheapest")).toMatchObject({ execution: "now" });
    expect(choose(cohere, "vendor")).toEqual({ refusal: "no upstream of the model has batches" });
    expect(choose(undefined, "vendor")).toEqual({ refusal: "the lines have several models" });
  });
  test("images run in batches of a vendor, and edits and moderated prompts do not", () => {
    const ask = (operation: "generations" | "edits", model: Model) =>
      chooseExecution({
        requested: "vendor",
        operation,
        model,
        tokens: 0,
        imageDollars: 4,
        isSupported: () => true,
      });
    const model: Model = { ...modelWith([openai]), kind: "image" };
    expect(ask("generations", model)).toMatchObject({
      execution: "vendor",
      estimate: { now: 4, vendor: 2 },
      limits: { lines: 500 },
    });
    expect(ask("edits", model)).toEqual({ refusal: "batches of vendors run no edits" });
    const moderation = { target: openai, onFailure: "refuse", timeoutMs: 1 } as const;
    expect(ask("generations", { ...model, moderation })).toMatchObject({
      refusal: expect.stringContaining("moderated"),
    });
  });
});

test("ranges are joined up to the lines, the bytes and the inputs of a vendor's batch", () => {
  const range = (firstLine: number, lines: number, bytes = 10, inputs = lines) => ({
    firstLine,
    lines,
    position: firstLine * 10,
    bytes,
    inputs,
  });
  const ranges = [range(0, 5), range(5, 5), range(10, 5), range(15, 2)];
  const shapes = (lines: number, bytes: number, inputs: number) =>
    joinRanges(ranges, { lines, bytes, inputs }).map((each) => [each.firstLine, each.lines]);
  expect(shapes(100, 1000, 100)).toEqual([[0, 17]]);
  expect(shapes(10, 1000, 100)).toEqual([
    [0, 10],
    [10, 7],
  ]);
  expect(shapes(100, 30, 100)).toEqual([
    [0, 10],
    [10, 7],
  ]);
  expect(shapes(100, 1000, 7)).toEqual([
    [0, 5],
    [5, 5],
    [10, 7],
  ]);
});
