/** Laws: when a vendor refuses, the client learns the reason, and nothing that belongs to the operator. */
import { expect } from "bun:test";
import { type ErrorDefinition, errorTable } from "../../../contract/errors.ts";
import { ask, askStream, draw, type Refused, refused } from "../ask.ts";
import type { VendorRefusal } from "../image-vendor.ts";
import type { PictureLaws } from "./law.ts";

function expectMeaning({ fault, status, headers, row }: Refused, meant: VendorRefusal): void {
  const because = JSON.stringify(meant.body).slice(0, 200);
  expect(fault, because).toBe(meant.fault);
  // Of a request that is wrong, the vendor's own status says how.
  if (meant.fault === "upstream_rejected") expect(status - (status % 100), because).toBe(400);
  else expect(status, because).toBe(errorTable[meant.fault].status);
  const wait = Number(headerOf(meant, "retry-after"));
  if (wait > 0) expect(headers.get("retry-after"), because).toBe(String(wait));
  expect(row.attempts).toBe(triesOf(meant));
}

/** How often a single target is called: again only after a transient error, where no image can have been generated. */
const triesOf = (refusal: VendorRefusal): number =>
  refusal.fault === "upstream_overloaded" && !headerOf(refusal, "retry-after") ? 3 : 1;

const headerOf = ({ headers = {} }: VendorRefusal, wanted: string): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];

/** Failover is allowed: this target has not begun. */
const isOpen = ({ fault, status, uncharged }: VendorRefusal): boolean => {
  const { retry, mayBeBilled }: ErrorDefinition = errorTable[fault];
  // What one account may not use, or one place does not have, another may.
  const ownRefusal = fault === "model_not_found" || fault === "upstream_forbidden";
  // Nobody works at an address that is not there.
  const nowhere = fault === "upstream_error" && status === 404;
  return ownRefusal || (retry === "elsewhere" && (nowhere || uncharged === true || !mayBeBilled));
};

export const refusals: PictureLaws = {
  "every way to say no becomes the fault that it means": {
    about: "vendor",
    holds: async (place, operation) => {
      expect(place.vendor.refusals.length).toBeGreaterThan(0);
      let tries = 0;
      for (const refusal of place.vendor.refusals) {
        place.served.spoil(refusal, triesOf(refusal));
        expectMeaning(refused(place, await ask(place, operation)), refusal);
        tries += triesOf(refusal);
      }
      expect(place.served.exchanges).toHaveLength(tries);
    },
  },

  "a call for a stream that is refused at once is refused with a status": {
    about: "vendor",
    holds: async (place, operation) => {
      for (const refusal of place.vendor.refusals.slice(0, 3)) {
        place.served.spoil(refusal, triesOf(refusal));
        const outcome = await askStream(place, operation, { partial_images: 0 });
        expectMeaning(refused(place, outcome), refusal);
      }
    },
  },

  "after a no without any work the next target draws; after any other, nobody is asked again": {
    about: "vendor",
    holds: async (place, operation) => {
      const { served, spare } = place;
      let drawn = 0;
      const { refusals } = place.vendor;
      const open = refusals.filter(isOpen).slice(0, 2);
      const closed = refusals.filter((refusal) => !isOpen(refusal)).slice(0, 3);
      for (const refusal of [...open, ...closed]) {
        served.spoil(refusal);
        if (isOpen(refusal)) {
          const { row } = await draw(place, operation, { role: "pair" });
          expect(row, refusal.fault).toMatchObject({ attempts: 2, images: 1 });
          drawn++;
        } else
          expectMeaning(refused(place, await ask(place, operation, { role: "pair" })), refusal);
        expect(spare.studio.orders, refusal.fault).toHaveLength(drawn);
      }
      expect(served.studio.orders).toEqual([]);
    },
  },
};
