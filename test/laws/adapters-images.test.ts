/** Adapter laws for image requests: every attempt sends the client's own files and references. */

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  openaiEmbeddingsOwnImages,
  openaiEmbeddingsVendors,
} from "../../server/upstream/adapters/index.ts";
import type { EditQuery } from "../../server/upstream/contract.ts";
import { tries } from "../depth.ts";
import {
  formEdits,
  imageAdapters,
  jsonEdits,
  jsonOf,
  partsOf,
  type Subject,
} from "./adapter-cases.ts";
import { type Law, obey } from "./law.ts";

const runs = tries(15);

const laws: Readonly<Record<string, Law<Subject>>> = {
  "files are sent with the client's bytes": async ({ adapter, target }) => {
    await fc.assert(
      fc.asyncProperty(formEdits, async (query) => {
        const parts = await partsOf(adapter.edits!.toUpstream(query, target));
        const sent = parts.filter(({ filename }) => filename !== undefined);
        for (const [at, source] of query.images.entries()) {
          if (source.kind !== "file") continue;
          expect(Buffer.from(sent[at]!.bytes).equals(await source.file.bytes())).toBe(true);
        }
      }),
      runs,
    );
  },
  "references are sent unchanged": ({ adapter, target }) => {
    fc.assert(
      fc.property(jsonEdits, (query) => {
        const { images, mask, markup } = jsonOf(adapter.edits!.toUpstream(query, target));
        const shown = (source: EditQuery["images"][number]) =>
          source.kind === "url"
            ? { image_url: source.url }
            : { file_id: (source as { id: string }).id };
        expect(images).toEqual(query.images.map(shown));
        expect(mask).toEqual(query.mask && shown(query.mask));
        expect(markup).toEqual(query.markup && shown(query.markup));
      }),
      runs,
    );
  },
  "a second attempt sends the same form as the first": async ({ adapter, target }) => {
    await fc.assert(
      fc.asyncProperty(formEdits, async (edit) => {
        const request = adapter.edits!.toUpstream(edit, target);
        expect(await partsOf(request)).toEqual(await partsOf(request));
        const again = await partsOf(adapter.edits!.toUpstream(edit, target));
        expect(again).toEqual(await partsOf(request));
      }),
      runs,
    );
  },
};

obey(imageAdapters, laws);

test("an adapter without images declares so, and no other does", () => {
  for (const { kind, adapter } of openaiEmbeddingsVendors) {
    if (openaiEmbeddingsOwnImages.some((vendor) => vendor.kind === kind)) continue;
    const servesImages = adapter.generations !== undefined && adapter.edits !== undefined;
    expect(`${kind.name}: ${kind.serves}`).toBe(
      `${kind.name}: ${servesImages ? undefined : "embedding"}`,
    );
  }
});
