/** The health of the targets of one upstream, on the page of upstreams. */
import { expect, test } from "bun:test";
import {
  servedModel,
  upstreamTargets,
} from "../../console/src/features/upstreams/upstream-targets.ts";
import type { ShownTarget } from "../../contract/admin.ts";

const target = (upstream: string, model: string, surface: string | null = null) =>
  ({ upstream, model, surface }) as ShownTarget;

test("every target of an upstream is shown once, also two that differ only in their surface", () => {
  const chat = target("cloud", "gemini", "chat");
  const plain = target("cloud", "gemini");
  const models = [{ targets: [plain, target("other", "gemini")] }, { targets: [chat, plain] }];
  expect([...upstreamTargets("cloud", models).values()]).toEqual([plain, chat]);
});

test("the paid test of an upstream's row uses a model that the upstream serves", () => {
  const models = [
    { kind: "image" as const, targets: [target("other", "flux")] },
    { kind: "image" as const, targets: [target("other", "a"), target("cloud", "gemini")] },
  ];
  expect(servedModel("cloud", models)).toEqual({ model: "gemini", modelKind: "image" });
  expect(servedModel("unused", models)).toBeUndefined();
});
