/** The input file of a vendor's batch, and the file of what was sent, by which its results are read. */
import { expect, test } from "bun:test";
import { openai } from "../../../server/batches/vendor/openai.ts";
import {
  type SentLine,
  SentRequests,
  SentRequestsWriter,
} from "../../../server/batches/vendor/sent-requests.ts";
import { type VendorStagesOptions, vendorStages } from "../../../server/batches/vendor/stages.ts";
import { VendorInput } from "../../../server/batches/vendor/vendor-input.ts";
import { ByteTurns } from "../../../server/lib/byte-turns.ts";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import { adapters } from "../../../server/upstream/adapters/index.ts";
import type { EmbeddingCapabilities, EmbeddingInput } from "../../../server/upstream/contract.ts";
import { capabilitiesOf, modelWithTargets, targetNamed } from "../../embeddings/stage-fixture.ts";
import { textQuery } from "../../workers/built-in-fixture.ts";

const target = targetNamed("vendor");

async function planOf(input: EmbeddingInput, capabilities: Partial<EmbeddingCapabilities>) {
  const options: Partial<VendorStagesOptions> = {
    adapters,
    capabilities: capabilitiesOf(capabilities),
    cache: { enabled: () => false } as Partial<VendorStagesOptions["cache"]> as never,
  };
  const { plan } = vendorStages(options as VendorStagesOptions);
  const query = textQuery([], { input });
  const requests = await plan({ query, model: modelWithTargets(target), target });
  return { requests, endUserAndTagBudgets: [] };
}

/** What is written of lines with these inputs, each split into requests of two. `nanosOf`: their estimated costs. */
async function writtenOf(
  inputs: readonly EmbeddingInput[],
  nanosOf: (number: number) => Pick<SentLine, "nanos" | "maxNanos"> = () => ({ nanos: 10 }),
) {
  const input = new VendorInput(openai, "/v1/embeddings");
  const sent: SentLine[] = [];
  async function* lines() {
    for (const number of inputs.keys()) yield { number };
  }
  const plan = async ({ number }: { number: number }) => ({
    ...(await planOf(inputs[number] as EmbeddingInput, { maxItems: 2 })),
    ...nanosOf(number),
  });
  const chunks: Uint8Array[] = [];
  const add = async (line: unknown): Promise<void> => void sent.push(line as SentLine);
  for await (const chunk of input.write(lines(), plan, { add })) chunks.push(chunk);
  const written = Buffer.concat(chunks)
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { custom_id: string; body: { input: string[] } });
  return { input, sent, written };
}

test("each request has an id of its own, also if several are equal, and is stored as it was sent", async () => {
  const texts = ["same", "same", "same", "same"];
  const { input, sent, written } = await writtenOf([
    { kind: "text", texts },
    { kind: "text", texts },
  ]);
  const ids = sent.flatMap(({ requests }) => requests.flatMap((request) => request.ids));
  expect(new Set(ids).size).toBe(4);
  expect(written.map((line) => line.custom_id)).toEqual(ids);
  expect(sent.map(({ number }) => number)).toEqual([0, 1]);
  expect(sent[0]?.requests[0]?.query).toMatchObject({
    input: { kind: "text", texts: ["same", "same"] },
  });
  expect(input.maximum).toEqual({ version: 0, nanos: 20, labels: {} });
});

test("lines with a known price are reserved in the budgets with their upper bounds, also beside lines without one", async () => {
  const inputs = ["a", "b", "c"].map((text) => ({ kind: "text", texts: [text] }) as const);
  const { input } = await writtenOf(inputs, (number) =>
    number === 1 ? { nanos: null } : { nanos: 10, maxNanos: 40 },
  );
  expect(input).toMatchObject({
    isCertain: false,
    maximum: { version: 0, nanos: 80, labels: {} },
    likely: { version: 0, nanos: 20, labels: {}, isLikely: true },
  });
});

test("what was sent is read again line by line, whatever the configuration is then", async () => {
  const stored = new Map<string, Buffer>();
  const files = {
    write: async (name: string, chunks: AsyncIterable<Uint8Array>) => {
      const parts: Uint8Array[] = [];
      for await (const chunk of chunks) parts.push(chunk);
      stored.set(name, Buffer.concat(parts));
      return 0;
    },
    find: async (name: string) => {
      const bytes = stored.get(name);
      return bytes && { size: bytes.length, read: () => new Blob([bytes]).stream() };
    },
  } as never;
  const sentTo = {
    target: { model: "text-embedding-3-small", tokenPrice: 0.01 },
    priceFactor: 0.5,
    model: { dimensions: 4 },
  };
  const writer = new SentRequestsWriter(files, "requests", sentTo);
  const line = { number: 1, requests: [], nanos: 5, labels: "end_user=ann" };
  await writer.add(line);
  await writer.add({ number: 3, refused: { kind: "over_budget", message: "Too much." } });
  await writer.close();
  const turns = new ByteTurns(() => 0).steps("owner");
  const requests = await SentRequests.open(files, "requests", turns);
  expect(requests.sentTo).toEqual(sentTo);
  expect(await requests.find(0)).toBeUndefined();
  expect(await requests.find(1)).toEqual(line);
  expect(await requests.find(2)).toBeUndefined();
  const refused = await requests.find(3);
  expect(refused).toBeInstanceOf(GatewayError);
  expect((refused as GatewayError).kind).toBe("over_budget");
  expect(await requests.find(4)).toBeUndefined();
  await requests.close();
});

test("a line whose end user has no room for now delays the batch, and fails alone when it has waited long enough", async () => {
  async function* lines() {
    for (const number of [0, 1]) yield { number };
  }
  const plan = async ({ number }: { number: number }) => {
    if (number === 0)
      throw new GatewayError("over_budget", "No room.", { overrides: { retry: "later" } });
    return { ...(await planOf({ kind: "text", texts: ["a"] }, { maxItems: 2 })), nanos: 10 };
  };
  const written = async (mayWait: boolean) => {
    const input = new VendorInput(openai, "/v1/embeddings", mayWait);
    const sent: unknown[] = [];
    const add = async (line: unknown): Promise<void> => void sent.push(line);
    for await (const _ of input.write(lines(), plan, { add }));
    return { delay: input.delay?.kind, sent };
  };
  expect(await written(true)).toEqual({ delay: "over_budget", sent: [] });
  expect(await written(false)).toMatchObject({
    delay: undefined,
    sent: [{ number: 0, refused: { kind: "over_budget", message: "No room." } }, { number: 1 }],
  });
});
