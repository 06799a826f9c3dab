/** Laws: no requested option is lost without being reported. */
import { expect } from "bun:test";
import { answered, ask, type Outcome, refused } from "../ask.ts";
import type { Operation, Place, Role } from "../house.ts";
import type { Order } from "../image-vendor.ts";
import type { PictureLaws } from "./law.ts";
import { expectTrue, namesIn, picturesIn } from "./truth.ts";

const asked = [
  ["style", "vivid"],
  ["background", "transparent"],
  ["quality", "high"],
  ["moderation", "low"],
] as const;

interface Told {
  readonly name: (typeof asked)[number][0];
  readonly outcome: Outcome;
  /** Undefined where the vendor took none. */
  readonly order: Order | undefined;
  /** The vendor was asked at all. */
  readonly heard: boolean;
  /** Spoken of in a header. */
  readonly said: boolean;
}

/** Each option by itself, side by side. The prompts tell the orders apart. */
const askEach = (place: Place, operation: Operation, role: Role): Promise<Told[]> =>
  Promise.all(
    asked.map(async ([name, value]) => {
      const prompt = `an otter with ${name}`;
      const outcome = await ask(place, operation, { role, prompt, [name]: value });
      const order = place.served.studio.orders.find((taken) => taken.prompt === prompt);
      const heard = place.served.exchanges.some(({ request }) => holds(request.body, prompt));
      const headers = ["vexel-adapted", "vexel-dropped"];
      return {
        name,
        outcome,
        order,
        heard,
        said: headers.some((header) => namesIn(outcome, header).includes(name)),
      };
    }),
  );

const holds = (body: Uint8Array, words: string): boolean => Buffer.from(body).includes(words);

const isTold = ({ order, name }: Told): boolean => order?.options?.[name] !== undefined;

function expectNamed(place: Place, { outcome, name }: Told): void {
  const { error, status } = refused(place, outcome);
  expect(status, error.message).toBe(400);
  expect(error.param, error.message).toBe(name);
}

export const options: PictureLaws = {
  "an option is told to the vendor, or done for it, or refused by its name": {
    holds: async (place, operation) => {
      for (const told of await askEach(place, operation, "painter")) {
        if (told.outcome.status === 200) {
          expect(isTold(told) || told.said, `${told.name} was lost`).toBe(true);
          continue;
        }
        expectNamed(place, told);
        // Only of an option of which nothing is known may it be left to the vendor to say so.
        const known = place.traits(operation).takes[told.name] !== "any";
        if (known) expect(told.heard, `${told.name}: the vendor was asked in vain`).toBe(false);
      }
    },
  },

  "a strict model refuses by its name what the vendor cannot be told": {
    house: "policies",
    about: "vendor",
    holds: async (place, operation) => {
      for (const told of await askEach(place, operation, "strict")) {
        if (told.outcome.status === 200) expect(isTold(told), `${told.name} was lost`).toBe(true);
        else expectNamed(place, told);
      }
    },
  },

  "a model that drops what the vendor lacks draws all the same, and says what it dropped": {
    house: "policies",
    about: "vendor",
    holds: async (place, operation) => {
      for (const told of await askEach(place, operation, "drop")) {
        answered(told.outcome);
        expect(isTold(told) || told.said, `${told.name} was lost`).toBe(true);
      }
    },
  },

  "fields that nobody here knows ride along, or are named as dropped": {
    holds: async (place, operation) => {
      const seed = 4_242_421;
      const outcome = await ask(place, operation, { seed });
      const heard = place.served.exchanges.some(({ request: { path, body } }) =>
        `${path}\n${Buffer.from(body).toString("latin1")}`.includes(String(seed)),
      );
      if (!heard) expect(namesIn(outcome, "vexel-dropped")).toContain("seed");
      // A vendor that has no such field may say so itself.
      if (outcome.status !== 200) expect(refused(place, outcome).status).toBeLessThan(500);
    },
  },

  "a model that came out yesterday draws, or the vendor itself says that it has none": {
    holds: async (place, operation) => {
      const wish = { role: "newcomer", response_format: "b64_json" } as const;
      const outcome = await ask(place, operation, wish);
      expect(place.served.exchanges.length, outcome.text.slice(0, 300)).toBeGreaterThan(0);
      if (outcome.status === 200) {
        const answer = answered(outcome);
        expectTrue(answer, picturesIn(answer));
      } else refused(place, outcome);
    },
  },
};
