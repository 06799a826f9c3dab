/** What upstreams say beside the point is heard too: limits that an answer used up, and places that are not there. */
import { afterEach, describe, expect, test } from "bun:test";
import type { WireReply } from "../../server/upstream/adapter.ts";
import { spentMs } from "../../server/upstream/adapters/wire/rate-limit-reset.ts";
import { createLimitWatch } from "../../server/upstream/limit-watch.ts";
import type { Fake } from "../fake-upstream.ts";
import { expectVectors } from "../faults/faults-fixture.ts";
import { answers, seatNamed } from "./scheduling-fixture.ts";
import { arrange, closeArranged } from "./scheduling-gateway-fixture.ts";
import { targetNamed } from "./travelling-fixture.ts";

afterEach(closeArranged);

const forEver = { times: Number.POSITIVE_INFINITY };
const usedUp = { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "30s" };

describe("an answer that says that the limit is used up", () => {
  test("is the last one that is asked for there until the reset, while another serves", async () => {
    const { fakes, embed, draw } = arrange({ upstreams: 2 });
    const [spent] = fakes as [Fake];
    spent.script({ headers: usedUp }, forEver);
    while (spent.requests.length === 0) await expectVectors(await embed());
    for (let call = 0; call < 20; call++) await expectVectors(await embed());
    expect(spent.requests).toHaveLength(1);
    for (let call = 0; call < 5; call++) expect((await draw()).status).toBe(200);
    expect(spent.requests).toHaveLength(2);
  });

  test("does not keep a model's only target from being asked: some of the limit is there sooner", async () => {
    const { fakes, embed } = arrange({ upstreams: 1 });
    fakes[0]!.script({ headers: usedUp }, forEver);
    for (let call = 0; call < 5; call++) await expectVectors(await embed());
    expect(fakes[0]!.requests).toHaveLength(5);
  });

  test("holds although other answers come after it, and ends with the reset", () => {
    const seat = seatNamed("a");
    seat.health.coolDown.spent(0, 5000);
    answers(seat, 100, 10);
    expect(seat.health.standing(4999, false)).toBe("doubtful");
    expect(seat.health.standing(5000, false)).toBe("in");
  });

  test.each<[string, Record<string, string>, number | undefined]>([
    ["requests", usedUp, 30_000],
    ["tokens", { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.5s" }, 1500],
    [
      "nothing: there is some left",
      { ...usedUp, "x-ratelimit-remaining-requests": "1" },
      undefined,
    ],
    ["nothing: it does not say what is left", { "x-ratelimit-reset-requests": "30s" }, undefined],
    ["nothing: it does not say until when", { "x-ratelimit-remaining-requests": "0" }, undefined],
    ["a minute at most", { ...usedUp, "x-ratelimit-reset-requests": "6m0s" }, 60_000],
    ["nothing: no number", { ...usedUp, "x-ratelimit-remaining-requests": "none" }, undefined],
  ])("is understood: %s", (_, headers, expected) => {
    expect(spentMs(new Headers(headers))).toBe(expected);
  });

  test("is found, and the headers of those that tell nothing, or have much left, are hardly read", () => {
    const heard: number[] = [];
    const watch = createLimitWatch((_, waitMs) => heard.push(waitMs));
    let reads = 0;
    const reply = (headers: Record<string, string>): WireReply =>
      ({
        status: 200,
        get headers() {
          reads++;
          return new Headers(headers);
        },
      }) as unknown as WireReply;
    const [silent, talking] = [targetNamed("silent"), targetNamed("talking")];
    for (let call = 0; call < 2000; call++) watch(reply({}), silent);
    expect(reads).toBeLessThan(10);
    reads = 0;
    const plenty = { "x-ratelimit-remaining-requests": "4999" };
    for (let call = 0; call < 650; call++) watch(reply(plenty), talking);
    expect(reads).toBeLessThanOrEqual(11);
    for (let left = 4000; left >= 0; left--) {
      const remaining = { ...usedUp, "x-ratelimit-remaining-requests": String(left) };
      watch(reply(remaining), talking);
    }
    expect(heard).toEqual([30_000]);
  });
});

describe("a place that is not there", () => {
  const nothing = { reply: { status: 404, body: "<h1>Not Found</h1>" } };

  test("is not the end of a call for vectors while another target serves", async () => {
    const { fakes, embed } = arrange({ upstreams: 2 });
    const [gone] = fakes as [Fake];
    gone.script(nothing, forEver);
    while (gone.requests.length === 0) await expectVectors(await embed());
  });

  test.each([404, 405, 410])(
    "is not the end of a call for pictures either, for nothing was drawn: %d",
    async (status) => {
      const { gateway, fakes, draw } = arrange({ upstreams: 2 });
      fakes[0]!.script({ reply: { status, body: "no" } });
      expect((await draw()).status).toBe(200);
      expect(fakes.map(({ requests }) => requests.length)).toEqual([1, 1]);
      expect(gateway.rows().at(-1)!.steps).toBe(
        "u0/gpt-image-1.5: upstream_error; u1/gpt-image-1.5: drew",
      );
    },
  );

  test("is the answer of a model's only target, in our words", async () => {
    const { fakes, draw } = arrange({ upstreams: 1 });
    fakes[0]!.script(nothing);
    const response = await draw();
    expect(response.status).toBe(502);
    expect(await response.text()).not.toContain("<h1>");
  });
});
