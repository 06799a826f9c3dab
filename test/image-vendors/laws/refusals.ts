/** Laws: when a vendor refuses, the client gets the reason, and nothing that belongs to the operator. */
import { expect } from "bun:test";
import { type ErrorDefinition, errorTable } from "../../../contract/errors.ts";
import type { FakeVendor, VendorRefusal } from "../image-vendor.ts";
import {
  type ErrorOutcome,
  expectRefusal,
  generate,
  sendRequest,
  sendStreaming,
} from "../send-request.ts";
import type { ImageLaws } from "./law.ts";

function expectMeaning(
  { kind, status, headers, row }: ErrorOutcome,
  expected: VendorRefusal,
): void {
  const because = JSON.stringify(expected.body).slice(0, 200);
  expect(kind, because).toBe(expected.kind);
  // For an invalid request, the vendor's own status is kept.
  if (expected.kind === "upstream_rejected") expect(status - (status % 100), because).toBe(400);
  else expect(status, because).toBe(errorTable[expected.kind].status);
  const wait = Number(headerOf(expected, "retry-after"));
  if (wait > 0) expect(headers.get("retry-after"), because).toBe(String(wait));
  expect(row.attempts).toBe(attemptsFor(expected));
}

/** How often a single target is called: again only after a transient error, where no image can have been generated. */
const attemptsFor = (refusal: VendorRefusal): number =>
  refusal.kind === "upstream_overloaded" && !headerOf(refusal, "retry-after") ? 3 : 1;

const headerOf = ({ headers = {} }: VendorRefusal, headerName: string): string | undefined =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === headerName)?.[1];

/** Failover is allowed: this target has not begun. */
const allowsFailover = ({ kind, status, uncharged }: VendorRefusal): boolean => {
  const { retry, mayBeBilled }: ErrorDefinition = errorTable[kind];
  // Another account or region may have the model.
  const ownRefusal = kind === "model_not_found" || kind === "upstream_forbidden";
  // A missing address generates nothing.
  const isMissingAddress = kind === "upstream_error" && status === 404;
  return (
    ownRefusal ||
    (retry === "elsewhere" && (isMissingAddress || uncharged === true || !mayBeBilled))
  );
};

/** The models of an adapter with the same error responses. */
const errorResponses = ({ kind, refusals }: FakeVendor): string => JSON.stringify([kind, refusals]);

export const refusals: ImageLaws = {
  "every error response of the vendor becomes the matching error kind": {
    about: "vendor",
    alike: errorResponses,
    holds: async (context, operation) => {
      expect(context.vendor.refusals.length).toBeGreaterThan(0);
      let tries = 0;
      for (const refusal of context.vendor.refusals) {
        context.fake.injectFault(refusal, attemptsFor(refusal));
        expectMeaning(expectRefusal(context, await sendRequest(context, operation)), refusal);
        tries += attemptsFor(refusal);
      }
      expect(context.fake.exchanges).toHaveLength(tries);
    },
  },

  "a streaming request that the vendor refuses gets an HTTP status": {
    about: "vendor",
    alike: ({ kind }) => kind,
    holds: async (context, operation) => {
      // Both kinds of request have one mapping of errors: the law above tries every error response.
      for (const refusal of context.vendor.refusals.slice(0, 1)) {
        context.fake.injectFault(refusal, attemptsFor(refusal));
        const outcome = await sendStreaming(context, operation, { partial_images: 0 });
        expectMeaning(expectRefusal(context, outcome), refusal);
      }
    },
  },

  "after a refusal that cannot be billed the next target generates the image; after any other error no target is tried":
    {
      about: "vendor",
      alike: errorResponses,
      holds: async (context, operation) => {
        const { fake, secondFake } = context;
        let generated = 0;
        const { refusals } = context.vendor;
        const open = refusals.filter(allowsFailover).slice(0, 1);
        const closed = refusals.filter((refusal) => !allowsFailover(refusal)).slice(0, 2);
        for (const refusal of [...open, ...closed]) {
          fake.injectFault(refusal);
          if (allowsFailover(refusal)) {
            const { row } = await generate(context, operation, { role: "pair" });
            expect(row, refusal.kind).toMatchObject({ attempts: 2, images: 1 });
            generated++;
          } else
            expectMeaning(
              expectRefusal(context, await sendRequest(context, operation, { role: "pair" })),
              refusal,
            );
          expect(secondFake.generator.requests, refusal.kind).toHaveLength(generated);
        }
        expect(fake.generator.requests).toEqual([]);
      },
    },
};
