/** The ids of the lines of a vendor's input file, by which the vendor's results are found. */
import { expect, test } from "bun:test";
import {
  type VendorStagesOptions,
  vendorStages,
} from "../../../server/batches/vendor/embedding-stages.ts";
import { openai } from "../../../server/batches/vendor/openai.ts";
import { idsOf } from "../../../server/batches/vendor/vendor-input.ts";
import { adapters } from "../../../server/upstream/adapters/index.ts";
import { capabilitiesOf, modelWithTargets, targetNamed } from "../../embeddings/stage-fixture.ts";
import { textQuery } from "../../workers/built-in-fixture.ts";

const target = targetNamed("vendor");

/** The ids of the requests of a line. `maxItems`: of one request. */
async function idsAt(maxItems: number, texts: readonly string[], number = 0): Promise<string[]> {
  const options: Partial<VendorStagesOptions> = {
    adapters,
    capabilities: capabilitiesOf({ maxItems }),
    cache: { enabled: () => false } as Partial<VendorStagesOptions["cache"]> as never,
  };
  const { plan } = vendorStages(options as VendorStagesOptions);
  const query = textQuery(texts);
  const requests = await plan({ query, model: modelWithTargets(target), target });
  const line = { number, body: { model: "embedding", input: texts } };
  return requests.flatMap((planned) => idsOf(openai, line, planned)).sort();
}

test("the requests of a line have different ids, also if they are equal", async () => {
  expect(new Set(await idsAt(2, ["same", "same", "same", "same"])).size).toBe(2);
});

test("a result is never found for other inputs: if the line changed, or is split in another way", async () => {
  const texts = ["a", "b", "c", "d", "e", "f"];
  const sent = await idsAt(2, texts);
  expect(await idsAt(2, texts)).toEqual(sent);
  const others = [
    ...(await idsAt(3, texts)),
    ...(await idsAt(6, texts)),
    ...(await idsAt(2, texts.toReversed())),
    ...(await idsAt(2, texts, 1)),
  ];
  expect(others.filter((id) => sent.includes(id))).toEqual([]);
  expect(new Set(others).size).toBe(others.length);
});
