/** Routing policies: power of two choices, weighted, cheapest, sticky. */
import { describe, expect, test } from "bun:test";
import type { StageRequest } from "../../server/request/stage.ts";
import type { Candidate, Policy } from "../../server/routing/policies.ts";
import {
  expectedEmbeddingPrice,
  expectedImagePrice,
} from "../../server/routing/routing-options.ts";
import { selectTarget } from "../../server/routing/select-target.ts";
import { withEmbeddingPrices } from "../../server/upstream/catalog/prices/model-price.ts";
import type { GenerationQuery, ImageOptions, Target } from "../../server/upstream/contract.ts";
import { modelWithTargets, requestFor } from "../embeddings/stage-fixture.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";
import { obey } from "../laws/law.ts";
import {
  among,
  candidateNamed,
  contextAt,
  eject,
  everyPolicy,
  rateLimit,
  succeed,
} from "./routing-fixture.ts";

const names = ["a", "b", "c", "d", "e"];
const shuffledInts = randomFrom(42);
const int = (below: number): number => Math.floor(shuffledInts() * below);

/** The share of requests of many API keys that each candidate gets. */
function shares(policy: Policy, candidates: readonly Candidate[], now = 0): number[] {
  const random = randomFrom(7);
  const counts = new Map<Candidate, number>();
  const often = 20_000;
  for (let request = 0; request < often; request++) {
    const affinityHash = Bun.hash.crc32(`key-${request}`);
    const candidate = policy(candidates, contextAt(now, { random, affinityHash }));
    counts.set(candidate, (counts.get(candidate) ?? 0) + 1);
  }
  return candidates.map((candidate) => (counts.get(candidate) ?? 0) / often);
}

describe("every policy", () => {
  obey(everyPolicy, {
    "picks one of the given candidates": (policy) => {
      for (let round = 0; round < 200; round++) {
        const candidates = names.slice(0, 1 + int(5)).map((name) => candidateNamed(name));
        for (const candidate of candidates) if (int(2)) succeed(candidate, 0, 1 + int(100));
        for (const candidate of candidates) candidate.health.inFlight = int(10);
        expect(candidates).toContain(policy(candidates, contextAt(50, { affinityHash: int(1e9) })));
      }
    },
    "distributes requests evenly among equal targets": (policy) => {
      for (const count of [2, 3, 5]) {
        const candidates = names.slice(0, count).map((name) => candidateNamed(name));
        for (const share of shares(policy, candidates)) {
          expect(Math.abs(share - 1 / count)).toBeLessThan(0.02);
        }
      }
    },
    "distributes requests by weight among otherwise equal targets": (policy) => {
      const candidates = [candidateNamed("a", { weight: 3 }), candidateNamed("b")];
      expect(Math.abs(shares(policy, candidates)[0]! - 0.75)).toBeLessThan(0.02);
    },
    "never picks an unavailable target while another is available": (policy) => {
      for (let round = 0; round < 500; round++) {
        const candidates = names
          .slice(0, 2 + int(4))
          .map((name) => candidateNamed(name, { tier: int(3) }));
        candidates.sort((one, other) => one.tier - other.tier);
        const out = candidates.filter((candidate, at) => {
          if (at === 0 || int(2) === 0) return false;
          if (int(2)) eject(candidate, 1000);
          else rateLimit(candidate, 1000, int(2) ? 500 : undefined);
          return true;
        });
        const context = contextAt(1001, { affinityHash: int(1e9) });
        const picked = selectTarget(among(candidates, { policy }), context)!.candidate;
        expect(out).not.toContain(picked);
        const lowest = Math.min(
          ...candidates.filter((candidate) => !out.includes(candidate)).map(({ tier }) => tier),
        );
        expect(picked.tier).toBe(lowest);
      }
    },
  });
});

describe("the p2c policy", () => {
  const policy = everyPolicy.get("p2c")!;

  test("avoids a hanging target long before its requests time out", () => {
    const [hanging, well] = [candidateNamed("hanging"), candidateNamed("well")];
    const random = randomFrom(3);
    for (let request = 0; request < 1000; request++) {
      const picked = policy([hanging, well], contextAt(request, { random }));
      if (picked === hanging) hanging.health.start(request);
    }
    expect(hanging.health.inFlight).toBeLessThan(3);
  });

  test("prefers the faster target, and tries the slower one again after a while", () => {
    const [slow, quick] = [candidateNamed("slow"), candidateNamed("quick")];
    for (let request = 0; request < 20; request++) {
      succeed(slow, request, 300);
      succeed(quick, request, 10);
    }
    expect(shares(policy, [slow, quick], 400)).toEqual([0, 1]);
    for (let now = 400; now < 60_000; now += 100) succeed(quick, now, 10);
    expect(shares(policy, [slow, quick], 60_000)[0]).toBeGreaterThan(0.4);
  });

  test("ignores small differences in latency", () => {
    const [one, other] = [candidateNamed("one"), candidateNamed("other")];
    for (let request = 0; request < 20; request++) {
      succeed(one, request, 12);
      succeed(other, request, 10);
    }
    expect(Math.abs(shares(policy, [one, other], 50)[0]! - 0.5)).toBeLessThan(0.02);
  });
});

describe("the cost policy", () => {
  const policy = everyPolicy.get("cost")!;
  const candidates = ["cheap", "dear", "unknown"].map((name) => candidateNamed(name));
  const prices: Record<string, number | undefined> = { cheap: 1, dear: 2 };
  const price = ({ target }: Candidate) => prices[target.upstream.id];

  test("selects the cheapest target, and a target with an unknown price only if no other is left", () => {
    const from = (list: Candidate[]) => policy(list, contextAt(0, { price })).target.upstream.id;
    expect(from([...candidates])).toBe("cheap");
    expect(from([candidates[2]!, candidates[1]!])).toBe("dear");
    expect(from([candidates[2]!])).toBe("unknown");
  });

  test("distributes requests among all targets of the same price", () => {
    const random = randomFrom(5);
    const attempts = new Set<Candidate>();
    for (let request = 0; request < 100; request++) {
      attempts.add(policy(candidates, contextAt(0, { random, price: () => 1 })));
    }
    expect(attempts.size).toBe(3);
  });
});

describe("the expected price", () => {
  const at = (kind: string, model: string): Target => ({
    upstream: { id: kind, kind, headers: {}, options: {} },
    model,
  });
  const generateImage = (options: ImageOptions): StageRequest<GenerationQuery> => ({
    ...requestFor([], modelWithTargets()),
    operation: "generations",
    query: { model: "m", prompt: "an otter", stream: false, options, extraFields: {} },
  });

  test("of embeddings is the target's price per token, and zero for built-in models", () => {
    const price = (kind: string, model: string) =>
      expectedEmbeddingPrice(
        requestFor(["a"], modelWithTargets()),
        withEmbeddingPrices(at(kind, model)),
      );
    expect(price("openai", "text-embedding-3-small")).toBe(0.02);
    expect(price("minilm", "x")).toBe(0);
    expect(price("vllm", "a-model-of-ours")).toBe(undefined);
  });

  test("of images depends on count, size and quality, and is unknown for models billed by token", () => {
    const price = (options: ImageOptions) =>
      expectedImagePrice(generateImage(options), at("openai", "dall-e-3"));
    expect(price({ size: "1024x1024", quality: "standard" })).toBe(0.04);
    expect(price({ n: 2, size: "1024x1792", quality: "hd" })).toBe(0.24);
    // It is billed by token, and the number of output tokens is not known in advance.
    expect(expectedImagePrice(generateImage({}), at("openai", "gpt-image-1.5"))).toBe(undefined);
  });
});

describe("the sticky policy", () => {
  const policy = everyPolicy.get("sticky")!;
  const candidates = names.map((name) => candidateNamed(name));
  const affinityHashes = Array.from({ length: 2000 }, (_, at) => Bun.hash.crc32(`key ${at}`));
  const at = (list: readonly Candidate[], affinityHash: number): Candidate =>
    policy(list, contextAt(0, { affinityHash, random: Math.random }));

  test("keeps an API key on its target, whatever the random numbers", () => {
    for (const hash of affinityHashes.slice(0, 100)) {
      expect(at(candidates, hash)).toBe(at(candidates.toReversed(), hash));
    }
  });

  test("moves only the API keys of a removed target", () => {
    const [gone, ...left] = candidates as [Candidate, ...Candidate[]];
    for (const hash of affinityHashes) {
      const before = at(candidates, hash);
      if (before !== gone) expect(at(left, hash)).toBe(before);
    }
  });
});
