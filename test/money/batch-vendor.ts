/** A fake vendor of batches, with an invoice of the lines that it has delivered. */
import { startFakeBatches } from "../fake-upstream/batches/fake-batches.ts";
import type { InvoiceLine } from "./invoice.ts";
import { isShared, models, nameOf, type Op, opOf } from "./program.ts";
import { Random } from "./random.ts";
import { imageBase64, vectorOf } from "./vendor.ts";

/** OpenAI's batches cost half. */
const factor = 0.5;

interface RequestLine {
  readonly custom_id: string;
  readonly body: {
    readonly input?: string | readonly string[];
    readonly prompt?: string;
    readonly n?: number;
    readonly model: string;
    readonly encoding_format?: string;
  };
}

export type BatchVendor = ReturnType<typeof startBatchVendor>;

export function startBatchVendor(ops: ReadonlyMap<number, Op>) {
  const random = new Random(7);
  /** Of the results of a batch, which are the same objects from its creation to its end. */
  const lines = new Map<unknown, InvoiceLine>();
  const resultOf = ({ custom_id: id, body }: RequestLine) => {
    const isImage = body.prompt !== undefined;
    const texts = isImage ? [body.prompt as string] : [body.input ?? []].flat();
    const names = texts.map(nameOf);
    const first = names.find((name) => !isShared(name));
    const behavior = first === undefined ? "ok" : (ops.get(opOf(first))?.behaviors[0] ?? "ok");
    const bytes = texts.reduce((sum, text) => sum + text.length, 0);
    const tokens = random.whole(Math.ceil(bytes / 4), bytes);
    const unit = isImage ? models["batched-image"].perImage : models.batched.perToken;
    const count = body.n ?? 1;
    const isRefused = behavior === "refused";
    const isMetered = isImage || behavior !== "no-usage";
    const line: InvoiceLine = {
      vendor: "batches",
      model: body.model,
      names,
      amount: factor * unit * (isImage ? count : tokens),
      least: Math.floor(factor * unit * (isImage ? count : bytes / 8)),
      at: Date.now(),
      state: isRefused ? "refused" : isMetered ? "served" : "unmetered",
    };
    const data = isImage
      ? Array.from({ length: count }, (_, at) => ({ b64_json: imageBase64(texts[0]!, at) }))
      : texts.map((text, index) => ({
          object: "embedding",
          index,
          embedding: vectorOf(text, body.encoding_format),
        }));
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    const result = isRefused
      ? { id, status: 400, body: { error: { message: "Invalid input.", type: "invalid" } } }
      : {
          id,
          status: 200,
          body: { object: "list", data, ...(isMetered && !isImage && { usage }) },
        };
    lines.set(result, line);
    return result;
  };
  const vendor = startFakeBatches("openai", (file) =>
    file
      .trimEnd()
      .split("\n")
      .map((text) => resultOf(JSON.parse(text) as RequestLine)),
  );
  /** The vendor has run such a batch, and does not know it any more: nobody gets its results. */
  const forget = (batchId: string | undefined): boolean => {
    const batch = vendor.batches.find(({ id, state }) => id === batchId && state === "running");
    const ofBatch = batch?.results.flatMap((result) => lines.get(result) ?? []) ?? [];
    const own = ofBatch.flatMap(({ names }) => names).find((name) => !isShared(name));
    const op = own === undefined ? undefined : ops.get(opOf(own));
    if (!op || op.id % 2 === 0 || op.key === "large") return false;
    for (const line of ofBatch) if (line.state !== "refused") line.state = "maybe";
    return ofBatch.every(({ state }) => state === "maybe");
  };
  const downloaded = Promise.withResolvers<void>();
  vendor.control.failure = (request) => {
    if (request.endsWith("/content")) downloaded.resolve();
    const [, batchId] = /^GET \/v1\/batches\/([^/]+)$/.exec(request) ?? [];
    return forget(batchId) ? 404 : undefined;
  };
  return {
    url: vendor.url,
    /** Resolves when results are downloaded. */
    downloaded: (): Promise<void> => downloaded.promise,
    /** The lines that a batch has delivered, or will. */
    get invoice(): InvoiceLine[] {
      return vendor.batches.flatMap(({ results }) =>
        results.flatMap((result) => lines.get(result) ?? []),
      );
    },
    close: () => vendor.close(),
  };
}
