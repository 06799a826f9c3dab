/** How one of several targets is picked: fairly, by weight, by price, or the same one for the same caller. */
import { describe, expect, test } from "bun:test";
import type { Call } from "../../server/request/stage.ts";
import { picturePrice, vectorPrice } from "../../server/routing/expected-price.ts";
import type { Policy, Seat } from "../../server/routing/policies/policy.ts";
import { choose } from "../../server/routing/select-target.ts";
import type { GenerationQuery, ImageOptions, Target } from "../../server/upstream/contract.ts";
import { callFor, routeTo } from "../embeddings/travelling-fixture.ts";
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
} from "./scheduling-fixture.ts";

const names = ["a", "b", "c", "d", "e"];
const shuffledInts = randomFrom(42);
const int = (below: number): number => Math.floor(shuffledInts() * below);

/** How often each is picked by many callers. */
function shares(policy: Policy, seats: readonly Seat[], now = 0): number[] {
  const random = randomFrom(7);
  const counts = new Map<Seat, number>();
  const often = 20_000;
  for (let call = 0; call < often; call++) {
    const caller = Bun.hash.crc32(`key-${call}`);
    const seat = policy(seats, questionAt(now, { random, caller }));
    counts.set(seat, (counts.get(seat) ?? 0) + 1);
  }
  return seats.map((seat) => (counts.get(seat) ?? 0) / often);
}

describe("every policy", () => {
  obey(everyPolicy, {
    "picks one of those it is given": (policy) => {
      for (let round = 0; round < 200; round++) {
        const seats = names.slice(0, 1 + int(5)).map((name) => seatNamed(name));
        for (const seat of seats) if (int(2)) answers(seat, 0, 1 + int(100));
        for (const seat of seats) seat.health.inFlight = int(10);
        expect(seats).toContain(policy(seats, questionAt(50, { caller: int(1e9) })));
      }
    },
    "is fair in the limit: targets that are alike are asked alike": (policy) => {
      for (const count of [2, 3, 5]) {
        const seats = names.slice(0, count).map((name) => seatNamed(name));
        for (const share of shares(policy, seats)) {
          expect(Math.abs(share - 1 / count)).toBeLessThan(0.02);
        }
      }
    },
    "goes by the weights where nothing else tells targets apart": (policy) => {
      const seats = [seatNamed("a", { weight: 3 }), seatNamed("b")];
      expect(Math.abs(shares(policy, seats)[0]! - 0.75)).toBeLessThan(0.02);
    },
    "never leads to one that is out while another is in": (policy) => {
      for (let round = 0; round < 500; round++) {
        const seats = names.slice(0, 2 + int(4)).map((name) => seatNamed(name, { tier: int(3) }));
        seats.sort((one, other) => one.tier - other.tier);
        const out = seats.filter((seat, at) => {
          if (at === 0 || int(2) === 0) return false;
          if (int(2)) dies(seat, 1000);
          else isLimited(seat, 1000, int(2) ? 500 : undefined);
          return true;
        });
        const choosing = { seats, policy, tried: undefined, room: undefined };
        const picked = choose(choosing, questionAt(1001, { caller: int(1e9) }))!;
        expect(out).not.toContain(picked);
        const lowest = Math.min(
          ...seats.filter((seat) => !out.includes(seat)).map(({ tier }) => tier),
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
      if (picked === hanging) hanging.health.begin(call);
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
  const seats = ["cheap", "dear", "unknown"].map((name) => seatNamed(name));
  const prices: Record<string, number | undefined> = { cheap: 1, dear: 2 };
  const price = ({ target }: Seat) => prices[target.upstream.id];

  test("the cheapest is asked, and one whose price nobody knows only where no other is left", () => {
    const from = (list: Seat[]) => policy(list, questionAt(0, { price })).target.upstream.id;
    expect(from([...seats])).toBe("cheap");
    expect(from([seats[2]!, seats[1]!])).toBe("dear");
    expect(from([seats[2]!])).toBe("unknown");
  });

  test("of those that cost the same, all are asked", () => {
    const random = randomFrom(5);
    const asked = new Set<Seat>();
    for (let call = 0; call < 100; call++) {
      asked.add(policy(seats, questionAt(0, { random, price: () => 1 })));
    }
    expect(asked.size).toBe(3);
  });
});

describe("what a call is expected to cost", () => {
  const at = (kind: string, model: string): Target => ({
    upstream: { id: kind, kind, headers: {}, options: {} },
    model,
  });
  const draw = (options: ImageOptions): Call<GenerationQuery> => ({
    ...callFor([], routeTo()),
    operation: "generations",
    query: { model: "m", prompt: "an otter", stream: false, options, rest: {} },
  });

  test("of vectors is what a token costs there, and nothing inside this machine", () => {
    expect(vectorPrice(undefined, at("openai", "text-embedding-3-small"))).toBe(0.02);
    expect(vectorPrice(undefined, at("minilm", "x"))).toBe(0);
    expect(vectorPrice(undefined, at("vllm", "a-model-of-ours"))).toBe(undefined);
  });

  test("of pictures goes by how many, how large and how good, and is not guessed", () => {
    const price = (options: ImageOptions) => picturePrice(draw(options), at("openai", "dall-e-3"));
    expect(price({ size: "1024x1024", quality: "standard" })).toBe(0.04);
    expect(price({ n: 2, size: "1024x1792", quality: "hd" })).toBe(0.24);
    // Its tokens are charged for, and nobody knows yet how many there will be.
    expect(picturePrice(draw({}), at("openai", "gpt-image-1.5"))).toBe(undefined);
  });
});

describe("sticky", () => {
  const policy = everyPolicy.get("sticky")!;
  const seats = names.map((name) => seatNamed(name));
  const callers = Array.from({ length: 2000 }, (_, at) => Bun.hash.crc32(`caller ${at}`));
  const at = (list: readonly Seat[], caller: number): Seat =>
    policy(list, questionAt(0, { caller, random: Math.random }));

  test("a caller stays with its target, whatever chance says", () => {
    for (const caller of callers.slice(0, 100)) {
      expect(at(seats, caller)).toBe(at(seats.toReversed(), caller));
    }
  });

  test("when a target goes, nobody moves but those who were there", () => {
    const [gone, ...left] = seats as [Seat, ...Seat[]];
    for (const caller of callers) {
      const before = at(seats, caller);
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
    const price = (seat: Seat) => (seat === back ? 1 : 2);
    const shareAt = (now: number): number => {
      let picked = 0;
      for (let call = 0; call < 5000; call++) {
        // Only this policy looks at who calls.
        const caller = policy === everyPolicy.get("sticky") ? Bun.hash.crc32(`key-${call}`) : 0;
        const question = questionAt(now, { random, caller, price });
        const choosing = { seats: [back, other], policy, tried: undefined, room: undefined };
        if (choose(choosing, question) === back) picked++;
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
      let last: Seat | undefined;
      for (let now = 5002; now < 16_000; now += 100) {
        const choosing = { seats: [back, other], policy, tried: undefined, room: undefined };
        const seat = choose(choosing, questionAt(now, { caller, random: Math.random }));
        if (last && seat !== last) moves++;
        last = seat;
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
    expect(back.health.standing(5100, false)).toBe("out");
    expect(other.health.standing(5100, false)).toBe("in");
  });
});
