/** Laws: when the connection or the vendor fails, the client gets an error, and no image is requested a second time. */
import { expect } from "bun:test";
import type { ErrorKind } from "../../../contract/errors.ts";
import { answered, ask, askStream, draw, refused } from "../ask.ts";
import type { Operation, Place } from "../house.ts";
import { deepJson, type Mischief } from "../serve-vendor.ts";
import type { Trick } from "../studio.ts";
import type { PictureLaw, PictureLaws } from "./law.ts";
import { picturesIn } from "./truth.ts";

/** The vendor has taken the order, so it may have to be paid: the second target of the pair stays idle. */
async function expectBroken(
  place: Place,
  operation: Operation,
  faults: readonly ErrorKind[],
): Promise<void> {
  const { served, spare } = place;
  const wish = { role: "pair", response_format: "b64_json" } as const;
  const outcome = await ask(place, operation, wish);
  if (outcome.status === 200 && served.mayRecover()) {
    expect(picturesIn(answered(outcome))).toHaveLength(1);
  } else {
    const { fault, status } = refused(place, outcome);
    expect(faults, outcome.text).toContain(fault);
    if (fault !== "moderation_blocked") expect([502, 504]).toContain(status);
  }
  expect(outcome.row.attempts).toBe(1);
  expect(served.studio.orders).toHaveLength(1);
  expect(spare.exchanges).toEqual([]);
}

const spoilt = (mischief: Mischief, faults: readonly ErrorKind[]): PictureLaw => ({
  holds: (place, operation) => {
    place.served.spoil(mischief);
    return expectBroken(place, operation, faults);
  },
});

const tricked = (trick: Trick, faults: readonly ErrorKind[]): PictureLaw => ({
  holds: (place, operation) => {
    place.served.studio.play(trick);
    return expectBroken(place, operation, faults);
  },
});

/** For vendors that give links. One that gives none draws as ever. */
const linked = (trick: Trick): PictureLaw => ({
  holds: async (place, operation) => {
    const { studio } = place.served;
    studio.play(trick);
    const wish = { role: "pair", response_format: "b64_json" } as const;
    const outcome = await ask(place, operation, wish);
    if (studio.links() === 0) expect(outcome.status, outcome.text.slice(0, 300)).toBe(200);
    else expect([502, 504]).toContain(refused(place, outcome).status);
    expect(studio.orders).toHaveLength(1);
    expect(place.spare.exchanges).toEqual([]);
  },
});

const cases: PictureLaws = {
  "a line that breaks after the order": {
    ...spoilt("reset", ["upstream_unreachable"]),
    about: "vendor",
  },
  "a page of HTML in place of an answer": spoilt("garbage", ["upstream_invalid"]),
  "half an answer": spoilt("truncated", ["upstream_invalid", "upstream_unreachable"]),
  "a line that breaks in the middle of a picture": {
    ...spoilt("cut", ["upstream_unreachable", "upstream_invalid"]),
    about: "vendor",
  },
  "a picture that is none": tricked("lie", ["upstream_invalid"]),
  // Some vendors give nothing where their safety system took the picture away.
  "an answer without a picture": tricked("nothing", [
    "upstream_invalid",
    "upstream_error",
    "moderation_blocked",
  ]),
  "a link to nothing": { ...linked("dead-link"), about: "vendor" },
  "a link to a page": { ...linked("page-behind-link"), about: "vendor" },
  "a vendor that is never heard of again": {
    ...spoilt("hang", ["upstream_timeout"]),
    house: "hurried",
    about: "vendor",
  },
};

export const breakdowns: PictureLaws = {
  ...Object.fromEntries(
    Object.entries(cases).map(([what, law]) => [
      `${what} is a fault that the caller hears of, and nothing is ordered twice`,
      law,
    ]),
  ),

  "a field that is nested a hundred thousand deep does not hide the picture beside it": {
    holds: async (place, operation) => {
      place.served.spoil("deep");
      place.served.studio.play("heavy");
      const answer = await draw(place, operation, { response_format: "b64_json" });
      expect(picturesIn(answer)).toHaveLength(1);
      expect(place.served.studio.orders).toHaveLength(1);
    },
  },

  "the same in a stream": {
    holds: async (place, operation) => {
      place.served.spoil("deep");
      place.served.studio.play("heavy");
      const { events, text } = await askStream(place, operation, { partial_images: 0 });
      expect(events.at(-1)?.type, text.slice(0, 300)).toEndWith(".completed");
      expect(place.served.studio.orders).toHaveLength(1);
    },
  },

  "an answer that is nothing but brackets is a fault of the upstream": {
    holds: async (place, operation) => {
      // What lacks its end is no JSON. The other is, without a picture: where that means that the model failed, it may say so.
      const bodies: readonly (readonly [string, readonly ErrorKind[]])[] = [
        [deepJson.slice(0, 100_000), ["upstream_invalid"]],
        [deepJson, ["upstream_invalid", "upstream_error"]],
      ];
      for (const [body, faults] of bodies) {
        place.served.spoil({ body, headers: { "content-type": "application/json" } });
        const outcome = await ask(place, operation, { response_format: "b64_json" });
        const { fault, status } = refused(place, outcome);
        expect(faults).toContain(fault);
        expect(status).toBe(502);
      }
    },
  },

  "a question about how far it is may fail, and the picture comes all the same": {
    about: "vendor",
    holds: async (place, operation) => {
      place.served.spoil("stumble");
      const answer = await draw(place, operation, { response_format: "b64_json" });
      expect(picturesIn(answer)).toHaveLength(1);
      expect(place.served.studio.orders).toHaveLength(1);
    },
  },
};
