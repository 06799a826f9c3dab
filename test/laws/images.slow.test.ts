/**
 * Laws about every image vendor: through a real gateway, with the official client and the fakes of
 * `test/image-vendors`.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import {
  imageOnly,
  nativeEmbeddings,
  openaiEmbeddingsOwnImages,
} from "../../server/upstream/adapters/index.ts";
import { sampled } from "../depth.ts";
import { goldens } from "../image-vendors/golden.ts";
import type { FakeVendor } from "../image-vendors/image-vendor.ts";
import {
  type GatewayName,
  type LawContext,
  type LawGateway,
  type Operation,
  startLawGateway,
} from "../image-vendors/law-gateway.ts";
import { breakdowns } from "../image-vendors/laws/breakdowns.ts";
import { editing } from "../image-vendors/laws/editing.ts";
import { formats } from "../image-vendors/laws/formats.ts";
import { generating } from "../image-vendors/laws/generating.ts";
import type { ImageLaw, ImageLaws } from "../image-vendors/laws/law.ts";
import { options } from "../image-vendors/laws/options.ts";
import { refusals } from "../image-vendors/laws/refusals.ts";
import { sizes } from "../image-vendors/laws/sizes.ts";
import { streaming } from "../image-vendors/laws/streaming.ts";
import { wire } from "../image-vendors/laws/wire.ts";
import { fakeVendors } from "../image-vendors/vendors/index.ts";
import type { Exceptions } from "./law.ts";

const laws: ImageLaws = {
  ...generating,
  ...formats,
  ...sizes,
  ...options,
  ...streaming,
  ...editing,
  ...refusals,
  ...breakdowns,
  ...wire,
};

/** Vendor -> law -> the reason why it does not hold. */
const exceptions: Exceptions = {};

/** Started before any test: a fake that cannot be configured fails once, and not in each law. */
const gateways: Readonly<Record<GatewayName, LawGateway>> = {
  plain: startLawGateway("plain", fakeVendors),
  "short-timeout": startLawGateway("short-timeout", vendorsOf("short-timeout")),
};
afterAll(async () => {
  await Promise.all(Object.values(gateways).map((gateway) => gateway.close()));
});

/** The vendors that are tried with this gateway. */
function vendorsOf(gateway: GatewayName): FakeVendor[] {
  const subjects = Object.values(laws)
    .filter((law) => law.gateway === gateway)
    .flatMap(subjectsOf);
  return [...new Set(subjects.map(({ vendor }) => vendor))];
}

interface Subject {
  readonly name: string;
  readonly vendor: FakeVendor;
  readonly operation: Operation;
}

function subjectsOf({ about, alike }: ImageLaw): Subject[] {
  const all = fakeVendors.flatMap((vendor) => {
    const { name, operations } = vendor;
    const [first] = operations;
    if (about === "vendor") return first ? [{ name, vendor, operation: first }] : [];
    return operations
      .filter((operation) => about === undefined || operation === about)
      .map((operation) => ({ name: `${name}, ${operation}`, vendor, operation }));
  });
  if (!alike) return all;
  // A map keeps the last of several equal keys. The list is reversed, so that the first of equal subjects is kept.
  const different = new Map(
    all.toReversed().map((each) => [alike(each.vendor, each.operation), each]),
  );
  return [...different.values()].toReversed();
}

async function checkLaw(law: ImageLaw, { vendor, operation }: Subject): Promise<void> {
  await gateways[law.gateway ?? "plain"].withContext(vendor, async (context) => {
    await law.holds(context, operation);
    expectTidy(context);
  });
}

/** After every law: the fake threw no error, and the ledger has one row for each request. */
function expectTidy({ fake, secondFake, requestIds, rows }: LawContext): void {
  const hasNoImage = fake.generator.injectedFault() === "nothing";
  if (!hasNoImage) expect([...fake.ownErrors, ...secondFake.ownErrors]).toEqual([]);
  expect(rows().map(({ requestId }) => requestId)).toEqual(requestIds.toSorted());
}

/** Many vendors are tested concurrently, and a law waits for its vendor. Only a law that hangs takes this long. */
const timeoutMs = 600_000;

for (const [lawName, law] of Object.entries(laws)) {
  describe(lawName, () => {
    const subjects = subjectsOf(law);
    // The golden files are compared in every run. Of the cases of the other laws, a run tries the share of
    // test/depth.ts.
    for (const subject of lawName in wire ? subjects : sampled(subjects)) {
      const reason = exceptions[subject.vendor.name]?.[lawName];
      if (reason === undefined) {
        test.concurrent(subject.name, () => checkLaw(law, subject), timeoutMs);
      } else {
        test.concurrent(
          `${subject.name} is excused: ${reason}`,
          async () => {
            const held = await checkLaw(law, subject).then(
              () => true,
              () => false,
            );
            expect(held, "the law holds here after all: take the exception out").toBe(false);
          },
          timeoutMs,
        );
      }
    }
  });
}

describe("the fake vendors", () => {
  const names = fakeVendors.map(({ name }) => name);

  test("have unique names and state the source of their formats", () => {
    expect(new Set(names).size).toBe(names.length);
    for (const { source } of fakeVendors) expect(source).toMatch(/https?:\/\/|\.\w+/);
  });

  test("exist for every image vendor with its own API", () => {
    const faked = new Set(fakeVendors.map(({ kind }) => kind));
    const withoutFake = [...openaiEmbeddingsOwnImages, ...nativeEmbeddings, ...imageOnly].filter(
      ({ kind, adapter }) => (adapter.generations || adapter.edits) && !faked.has(kind.name),
    );
    expect(withoutFake.map(({ kind }) => kind.name)).toEqual([]);
  });

  test("have one golden file for each operation", () => {
    const expected = fakeVendors.flatMap(({ name, operations }) =>
      operations.map((operation) => `${name}.${operation}.golden.json`),
    );
    expect(readdirSync(goldens).sort()).toEqual(expected.sort());
  });

  test("have exceptions only for existing laws, each with a reason", () => {
    for (const [name, excused] of Object.entries(exceptions)) {
      expect(names).toContain(name);
      for (const [law, reason] of Object.entries(excused)) {
        expect(Object.keys(laws)).toContain(law);
        expect(reason.length, `${name}, ${law}: give a reason`).toBeGreaterThan(10);
      }
    }
  });
});
