/** Laws: a size is made, or the nearest shape is and it is said, or the sizes that there are are named. */
import { expect } from "bun:test";
import { sniff } from "../../fake-upstream/image-info.ts";
import { answered, ask, refused } from "../ask.ts";
import type { Operation, Place } from "../house.ts";
import type { Order } from "../image-vendor.ts";
import type { PictureLaws } from "./law.ts";
import { expectTrue, namesIn, picturesIn } from "./truth.ts";

const readShape = (text: string): number => {
  const [across = 1, down = 1] = text.split(/[x:*]/).map(Number);
  return across / down;
};

/** In proportion: 2:1 is as far from 1:1 as 1:2 is. */
const away = (text: string, size: string): number =>
  Math.abs(Math.log(readShape(text) / readShape(size)));

/** Nothing else that the vendor has comes nearer. */
function expectNearest({ size, aspect }: Order, asked: string, offered: readonly string[]): void {
  const got = aspect ?? size;
  expect(got, "the vendor was told neither a size nor a shape").toBeDefined();
  const least = Math.min(...offered.map((offer) => away(offer, asked)));
  expect(away(got ?? "1:1", asked)).toBeCloseTo(least, 6);
}

async function expectSize(place: Place, operation: Operation, size: string): Promise<void> {
  const prompt = `an otter of ${size}`;
  const outcome = await ask(place, operation, { size, prompt, response_format: "b64_json" });
  if (outcome.status !== 200) {
    const { error, status } = refused(place, outcome);
    expect({ status, param: error.param }, error.message).toEqual({ status: 400, param: "size" });
    expect(error.message, "it does not say which sizes there are").toMatch(/\d[x:]\d|\d/);
    return;
  }
  const answer = answered(outcome);
  const pictures = picturesIn(answer);
  expectTrue(answer, pictures);
  const order = place.served.studio.orders.find((taken) => taken.prompt === prompt);
  if (order?.size === size) {
    const { width, height } = sniff(pictures[0] ?? new Uint8Array()) ?? {};
    expect(`${width}x${height}`).toBe(size);
    return;
  }
  expect(namesIn(outcome, "vexel-adapted")).toContain("size");
  const { sizes } = place.traits(operation);
  if (sizes === "any" || "rule" in sizes) throw new Error("the vendor could have been told");
  expectNearest(order ?? { prompt, n: 1 }, size, "list" in sizes ? sizes.list : sizes.ratios);
}

export const sizes: PictureLaws = {
  "a size is what comes; or the nearest shape does, and it is said; or the sizes are named": {
    holds: async (place, operation) => {
      const asked = ["1536x1024", "1024x1024"];
      await Promise.all(asked.map((size) => expectSize(place, operation, size)));
    },
  },
};
