/** Routing policies: power of two choices, weighted, cheapest, sticky. */
import { describe, expect, test } from "bun:test";
import type { StageRequest } from "../../server/request/stage.ts";
import { embeddingPrice, imagePrice } from "../../server/routing/expected-price.ts";
import type { Candidate, Policy } from "../../server/routing/policies/policy.ts";
import { selectTarget } from "../../server/routing/select-target.ts";
import type { GenerationQuery, ImageOptions, Target } from "../../server/upstream/contract.ts";
import { requestFor, routeTo } from "../embeddings/stage-fixture.ts";
import { randomFrom } from "../fuzz/scheduling-world.ts";
import { obey } from "../laws/law.ts";
import {
  answers,
  dies,
  everyPolicy,
  fails,
  isLimited,
  questionAt,
  seatNamed,
} from "./routing-fixture.ts";

const names = ["a", "b", "c", "d", "e"];
const shuffledInts = randomFrom(42);
const int = (below: number): number => Math.floor(shuffledInts() * below);

/** How often each is picked by many callers. */
function shares(policy: Policy, candidates: readonly Candidate[], now = 0): number[] {
  const random = randomFrom(7);
  const counts = new Map<Candidate, number>();
  const often = 20_000;
  for (let call = 0; call < often; call++) {
    const affinityHash = Bun.hash.crc32(`key-${call}`);
    const candidate = policy(candidates, questionAt(now, { random, affinityHash }));
    counts.set(candidate, (counts.get(candidate) ?? 0) + 1);
  }
  return candidates.map((candidate) => (counts.get(candidate) ?? 0) / often);
}

describe("every policy", () => {
  obey(everyPolicy, {
    "picks one of those it is given": (policy) => {
      for (let round = 0; round < 200; round++) {
        const candidates = names.slice(0, 1 + int(5)).map((name) => seatNamed(name));
        for (const candidate of candidates) if (int(2)) answers(candidate, 0, 1 + int(100));
        for (const candidate of candidates) candidate.health.inFlight = int(10);
        expect(candidates).toContain(
          policy(candidates, questionAt(50, { affinityHash: int(1e9) })),
        );
      }
    },
    "is fair in the limit: targets that are alike are asked alike": (policy) => {
      for (const count of [2, 3, 5]) {
        const candidates = names.slice(0, count).map((name) => seatNamed(name));
        for (const share of shares(policy, candidates)) {
          expect(Math.abs(share - 1 / count)).toBeLessThan(0.02);
        }
      }
    },
    "goes by the weights where nothing else tells targets apart": (policy) => {
      const candidates = [seatNamed("a", { weight: 3 }), seatNamed("b")];
      expect(Math.abs(shares(policy, candidates)[0]! - 0.75)).toBeLessThan(0.02);
    },
    "never leads to one that is out while another is in": (policy) => {
      for (let round = 0; round < 500; round++) {
        const candidates = names
          .slice(0, 2 + int(4))
          .map((name) => seatNamed(name, { tier: int(3) }));
        candidates.sort((one, other) => one.tier - other.tier);
        const out = candidates.filter((candidate, at) => {
          if (at === 0 || int(2) === 0) return false;
          if (int(2)) dies(candidate, 1000);
          else isLimited(candidate, 1000, int(2) ? 500 : undefined);
          return true;
        });
        const selection = { candidates, policy, tried: undefined, capacity: undefined };
        const picked = selectTarget(selection, questionAt(1001, { affinityHash: int(1e9) }))!;
        expect(out).not.toContain(picked);
        const lowest = Math.min(
          ...candidates.filter((candidate) => !out.includes(candidate)).map(({ tier }) => tier),
        );
        expect(picked.tier).toBe(lowest);
      }
    },
  });
});

describe("two choices", () => {
  const policy = everyPolicy.get("p2c")!;

  test("turn away from a target that holds on to its calls, long before their time is over", () => {
    const [hanging, well] = [seatNamed("hanging"), seatNamed("well")];
    const random = randomFrom(3);
    for (let call = 0; call < 1000; call++) {
      const picked = policy([hanging, well], questionAt(call, { random }));
      if (picked === hanging) hanging.health.start(call);
    }
    expect(hanging.health.inFlight).toBeLessThan(3);
  });

  test("prefer the quicker one, and try the slower again once in a while", () => {
    const [slow, quick] = [seatNamed("slow"), seatNamed("quick")];
    for (let call = 0; call < 20; call++) {
      answers(slow, call, 300);
      answers(quick, call, 10);
    }
    expect(shares(policy, [slow, quick], 400)).toEqual([0, 1]);
    for (let now = 400; now < 60_000; now += 100) answers(quick, now, 10);
    expect(shares(policy, [slow, quick], 60_000)[0]).toBeGreaterThan(0.4);
  });

  test("do not mind small differences", () => {
    const [one, other] = [seatNamed("one"), seatNamed("other")];
    for (let call = 0; call < 20; call++) {
      answers(one, call, 12);
      answers(other, call, 10);
    }
    expect(Math.abs(shares(policy, [one, other], 50)[0]! - 0.5)).toBeLessThan(0.02);
  });
});

describe("by price", () => {
  const policy = everyPolicy.get("cost")!;
  const candidates = ["cheap", "dear", "unknown"].map((name) => seatNamed(name));
  const prices: Record<string, number | undefined> = { cheap: 1, dear: 2 };
  const price = ({ target }: Candidate) => prices[target.upstream.id];

  test("the cheapest is asked, and one whose price nobody knows only where no other is left", () => {
    const from = (list: Candidate[]) => policy(list, questionAt(0, { price })).target.upstream.id;
    expect(from([...candidates])).toBe("cheap");
    expect(from([candidates[2]!, candidates[1]!])).toBe("dear");
    expect(from([candidates[2]!])).toBe("unknown");
  });

  test("of those that cost the same, all are asked", () => {
    const random = randomFrom(5);
    const asked = new Set<Candidate>();
    for (let call = 0; call < 100; call++) {
      asked.add(policy(candidates, questionAt(0, { random, price: () => 1 })));
    }
    expect(asked.size).toBe(3);
  });
});

describe("what a call is expected to cost", () => {
  const at = (kind: string, model: string): Target => ({
    upstream: { id: kind, kind, headers: {}, options: {} },
    model,
  });
  const draw = (options: ImageOptions): StageRequest<GenerationQuery> => ({
    ...requestFor([], routeTo()),
    operation: "generations",
    query: { model: "m", prompt: "an otter", stream: false, options, rest: {} },
  });

  test("of vectors is what a token costs there, and nothing runs inside the gateway", () => {
    expect(embeddingPrice(undefined, at("openai", "text-embedding-3-small"))).toBe(0.02);
    expect(embeddingPrice(undefined, at("minilm", "x"))).toBe(0);
    expect(embeddingPrice(undefined, at("vllm", "a-model-of-ours"))).toBe(undefined);
  });

  test("of pictures goes by how many, how large and how good, and is not guessed", () => {
    const price = (options: ImageOptions) => imagePrice(draw(options), at("openai", "dall-e-3"));
    expect(price({ size: "1024x1024", quality: "standard" })).toBe(0.04);
    expect(price({ n: 2, size: "1024x1792", quality: "hd" })).toBe(0.24);
    // Its tokens are charged for, and nobody knows yet how many there will be.
    expect(imagePrice(draw({}), at("openai", "gpt-image-1.5"))).toBe(undefined);
  });
});

describe("sticky", () => {
  const policy = everyPolicy.get("sticky")!;
  const candidates = names.map((name) => seatNamed(name));
  const callers = Array.from({ length: 2000 }, (_, at) => Bun.hash.crc32(`caller ${at}`));
  const at = (list: readonly Candidate[], affinityHash: number): Candidate =>
    policy(list, questionAt(0, { affinityHash, random: Math.random }));

  test("a caller stays with its target, whatever chance says", () => {
    for (const caller of callers.slice(0, 100)) {
      expect(at(candidates, caller)).toBe(at(candidates.toReversed(), caller));
    }
  });

  test("when a target goes, nobody moves but those who were there", () => {
    const [gone, ...left] = candidates as [Candidate, ...Candidate[]];
    for (const caller of callers) {
      const before = at(candidates, caller);
      if (before !== gone) expect(at(left, caller)).toBe(before);
    }
  });
});

describe("a target that has just come back, whatever the policy", () => {
  /** Of one that is dear to the policy: cheap, quick, idle. */
  const arranged = (policy: Policy, tier = 0, weight = 1) => {
    const [back, other] = [seatNamed("back", { weight }), seatNamed("other", { tier })];
    dies(back, 0);
    answers(back, 5000, 1);
    const random = randomFrom(11);
    const price = (candidate: Candidate) => (candidate === back ? 1 : 2);
    const shareAt = (now: number): number => {
      let picked = 0;
      for (let call = 0; call < 5000; call++) {
        // Only this policy looks at who calls.
        const affinityHash =
          policy === everyPolicy.get("sticky") ? Bun.hash.crc32(`key-${call}`) : 0;
        const context = questionAt(now, { random, affinityHash, price });
        const selection = {
          candidates: [back, other],
          policy,
          tried: undefined,
          capacity: undefined,
        };
        if (selectTarget(selection, context) === back) picked++;
      }
      return picked / 5000;
    };
    return { back, other, shareAt };
  };

  obey(everyPolicy, {
    "gets a tenth of its part of the calls at first, and all of it after ten seconds": (policy) => {
      const { shareAt } = arranged(policy);
      const whole = shareAt(15_002);
      expect(shareAt(5002) / whole).toBeWithin(0.07, 0.13);
      expect(shareAt(10_001) / whole).toBeWithin(0.5, 0.6);
      expect(shareAt(12_500) / whole).toBeWithin(0.72, 0.83);
      expect(whole).toBeGreaterThan(0.45);
    },
    "gets no more because others have much to do": (policy) => {
      const { other, shareAt } = arranged(policy);
      answers(other, 5000, 1);
      other.health.inFlight = 10;
      expect(shareAt(5002)).toBeLessThan(0.13);
    },
    "is spared where it is the only one of its tier, if the next can carry it": (policy) => {
      const { other, shareAt } = arranged(policy, 1);
      expect(shareAt(5002)).toBeWithin(0.07, 0.13);
      expect(shareAt(15_002)).toBe(1);
      dies(other, 5002);
      expect(shareAt(5003)).toBe(1);
    },
  });

  test("gets its callers back one after the other, and none goes to and fro: sticky", () => {
    const policy = everyPolicy.get("sticky")!;
    const [back, other] = [seatNamed("back"), seatNamed("other")];
    dies(back, 0);
    answers(back, 5000, 1);
    for (let key = 0; key < 200; key++) {
      const caller = Bun.hash.crc32(`key-${key}`);
      let moves = 0;
      let last: Candidate | undefined;
      for (let now = 5002; now < 16_000; now += 100) {
        const selection = {
          candidates: [back, other],
          policy,
          tried: undefined,
          capacity: undefined,
        };
        const candidate = selectTarget(
          selection,
          questionAt(now, { affinityHash: caller, random: Math.random }),
        );
        if (last && candidate !== last) moves++;
        last = candidate;
      }
      expect(moves).toBeLessThanOrEqual(1);
    }
  });

  test("falls sooner than one that always served", () => {
    const [back, other] = [seatNamed("back"), seatNamed("other")];
    dies(back, 0);
    answers(back, 5000, 1);
    for (let call = 0; call < 3; call++) {
      fails(back, 5100);
      fails(other, 5100);
    }
    expect(back.health.state(5100, false)).toBe("unavailable");
    expect(other.health.state(5100, false)).toBe("available");
  });
});
