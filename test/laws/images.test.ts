/** Laws over every vendor that draws: through a real gateway, with the official client, each as `test/pictures` plays it. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import {
  imageOnly,
  nativeEmbeddings,
  openaiEmbeddingsOwnImages,
} from "../../server/upstream/adapters/index.ts";
import {
  type House,
  type HouseName,
  type Operation,
  openHouse,
  type Place,
} from "../image-vendors/house.ts";
import type { PictureVendor } from "../image-vendors/image-vendor.ts";
import { breakdowns } from "../image-vendors/laws/breakdowns.ts";
import { editing } from "../image-vendors/laws/editing.ts";
import { formats } from "../image-vendors/laws/formats.ts";
import { drawing } from "../image-vendors/laws/generating.ts";
import type { PictureLaw, PictureLaws } from "../image-vendors/laws/law.ts";
import { options } from "../image-vendors/laws/options.ts";
import { refusals } from "../image-vendors/laws/refusals.ts";
import { sizes } from "../image-vendors/laws/sizes.ts";
import { streaming } from "../image-vendors/laws/streaming.ts";
import { goldens, wire } from "../image-vendors/laws/wire.ts";
import { pictureVendors } from "../image-vendors/vendors/index.ts";
import type { Exceptions } from "./law.ts";

const laws: PictureLaws = {
  ...drawing,
  ...formats,
  ...sizes,
  ...options,
  ...streaming,
  ...editing,
  ...refusals,
  ...breakdowns,
  ...wire,
};

/** Vendor -> law -> why it does not hold there. */
const exceptions: Exceptions = {};

/** Before any test: a case that cannot even be configured is told of once, and not by each of its laws. */
const houses: Readonly<Record<HouseName, House>> = {
  plain: openHouse("plain", pictureVendors),
  policies: openHouse("policies", pictureVendors),
  hurried: openHouse("hurried", pictureVendors),
};
afterAll(async () => {
  await Promise.all(Object.values(houses).map((house) => house.close()));
});

interface Subject {
  readonly name: string;
  readonly vendor: PictureVendor;
  readonly operation: Operation;
}

const subjectsOf = ({ about }: PictureLaw): Subject[] =>
  pictureVendors.flatMap((vendor) => {
    const { name, operations } = vendor;
    const [first] = operations;
    if (about === "vendor") return first ? [{ name, vendor, operation: first }] : [];
    return operations
      .filter((operation) => about === undefined || operation === about)
      .map((operation) => ({ name: `${name}, ${operation}`, vendor, operation }));
  });

async function tryOut(law: PictureLaw, { vendor, operation }: Subject): Promise<void> {
  await houses[law.house ?? "plain"].withPlace(vendor, async (place) => {
    await law.holds(place, operation);
    expectTidy(place);
  });
}

/** Whatever a law is about: the fake knew what to say, and the ledger has one row for each call. */
function expectTidy({ served, spare, calls, rows }: Place): void {
  const confused = served.studio.played() === "nothing";
  if (!confused) expect([...served.defects, ...spare.defects]).toEqual([]);
  expect(rows().map(({ requestId }) => requestId)).toEqual(calls.toSorted());
}

/** Many vendors are looked at side by side, and some of them let one wait. */
const patienceMs = 60_000;

for (const [words, law] of Object.entries(laws)) {
  describe(words, () => {
    for (const subject of subjectsOf(law)) {
      const reason = exceptions[subject.vendor.name]?.[words];
      if (reason === undefined) {
        test.concurrent(subject.name, () => tryOut(law, subject), patienceMs);
      } else {
        test.concurrent(
          `${subject.name} is excused: ${reason}`,
          async () => {
            const held = await tryOut(law, subject).then(
              () => true,
              () => false,
            );
            expect(held, "the law holds here after all: take the exception out").toBe(false);
          },
          patienceMs,
        );
      }
    }
  });
}

describe("the cases", () => {
  const names = pictureVendors.map(({ name }) => name);

  test("have a name of their own each, and say where their shapes are from", () => {
    expect(new Set(names).size).toBe(names.length);
    for (const { source } of pictureVendors) expect(source).toMatch(/https?:\/\/|\.\w+/);
  });

  test("are there for every vendor that draws in a language of its own", () => {
    const played = new Set(pictureVendors.map(({ kind }) => kind));
    const silent = [...openaiEmbeddingsOwnImages, ...nativeEmbeddings, ...imageOnly].filter(
      ({ adapter }) => (adapter.generations || adapter.edits) && !played.has(adapter.name),
    );
    expect(silent.map(({ adapter }) => adapter.name)).toEqual([]);
  });

  test("and the golden files are the same", () => {
    const wanted = pictureVendors.flatMap(({ name, operations }) =>
      operations.map((operation) => `${name}.${operation}.golden.json`),
    );
    expect(readdirSync(goldens).sort()).toEqual(wanted.sort());
  });

  test("every exception names a case and a law that are there, and a reason", () => {
    for (const [name, excused] of Object.entries(exceptions)) {
      expect(names).toContain(name);
      for (const [law, reason] of Object.entries(excused)) {
        expect(Object.keys(laws)).toContain(law);
        expect(reason.length, `${name}, ${law}: give a reason`).toBeGreaterThan(10);
      }
    }
  });
});
