/** The ids of the lines of a vendor's input file, by which the vendor's results are found. */
import { expect, test } from "bun:test";
import {
  type VendorStagesOptions,
  vendorStages,
} from "../../../server/batches/vendor/embedding-stages.ts";
import { openai } from "../../../server/batches/vendor/openai.ts";
import { idsOf } from "../../../server/batches/vendor/vendor-input.ts";
import { adapters } from "../../../server/upstream/adapters/index.ts";
import type { EmbeddingCapabilities, EmbeddingInput } from "../../../server/upstream/contract.ts";
import { capabilitiesOf, modelWithTargets, targetNamed } from "../../embeddings/stage-fixture.ts";
import { textQuery } from "../../workers/built-in-fixture.ts";

const target = targetNamed("vendor");

/** The ids of the requests of a line to a target with these capabilities. */
async function idsOfLine(
  input: EmbeddingInput,
  capabilities: Partial<EmbeddingCapabilities>,
  number = 0,
): Promise<string[]> {
  const options: Partial<VendorStagesOptions> = {
    adapters,
    capabilities: capabilitiesOf(capabilities),
    cache: { enabled: () => false } as Partial<VendorStagesOptions["cache"]> as never,
  };
  const { plan } = vendorStages(options as VendorStagesOptions);
  const query = textQuery([], { input });
  const requests = await plan({ query, model: modelWithTargets(target), target });
  return requests.flatMap((planned) => idsOf(openai, number, planned)).sort();
}

test("the requests of a line have different ids, also if they are equal", async () => {
  const texts = ["same", "same", "same", "same"];
  const ids = await idsOfLine({ kind: "text", texts }, { maxItems: 2 });
  expect(new Set(ids).size).toBe(2);
});

test("a result is found for the same inputs, and never for other inputs", async () => {
  const texts = ["a", "b", "c", "d", "e", "f"];
  const text = { kind: "text", texts } as const;
  const sent = await idsOfLine(text, { maxItems: 2 });
  expect(await idsOfLine(text, { maxItems: 2, base64: false })).toEqual(sent);
  const others = [
    // Split in another way.
    ...(await idsOfLine(text, { maxItems: 3 })),
    ...(await idsOfLine(text, { maxItems: 6 })),
    // Another line, and a line that changed.
    ...(await idsOfLine(text, { maxItems: 2 }, 1)),
    ...(await idsOfLine({ kind: "text", texts: texts.toReversed() }, { maxItems: 2 })),
  ];
  expect(others.filter((id) => sent.includes(id))).toEqual([]);
  expect(new Set(others).size).toBe(others.length);
});

test("a result of token arrays is never found for the texts that they decode to", async () => {
  const tokens = { kind: "tokens", tokens: [[9906, 1917]] } as const;
  const passed = await idsOfLine(tokens, { tokens: true, tokenizer: "cl100k_base" });
  const decoded = await idsOfLine(tokens, { tokens: false });
  expect(passed).toHaveLength(1);
  expect(decoded).toHaveLength(1);
  expect(decoded).not.toEqual(passed);
});
