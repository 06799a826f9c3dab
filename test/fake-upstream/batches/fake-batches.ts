/**
 * Fake batch APIs of four vendors: files, batches with their states, results in another order, partial results, errors
 * and lists. A test decides when a batch ends, and what its results are.
 */
import type { FakeBatch, FakeDialect, FakeResult, FakeState } from "./fake-batch.ts";
import { geminiDialect } from "./gemini-dialect.ts";
import { mistralDialect, openaiDialect, voyageDialect } from "./openai-dialects.ts";

export type VendorKind = "openai" | "voyage" | "mistral" | "gemini";

const dialects: Readonly<Record<VendorKind, FakeDialect>> = {
  openai: openaiDialect,
  voyage: voyageDialect,
  mistral: mistralDialect,
  gemini: geminiDialect,
};

export type FakeVendor = ReturnType<typeof startFakeBatches>;

export function startFakeBatches(kind: VendorKind, embed: (file: string) => FakeResult[]) {
  const batches: FakeBatch[] = [];
  const files = new Map<string, string>();
  const deleted: string[] = [];
  let uploaded = 0;
  const control = {
    /** Running batches end at the next poll. */
    isReady: true,
    /** Results that are done when a batch is canceled or expires. */
    partial: 1,
    /** Changes the results of a batch. */
    alter: (results: FakeResult[]): readonly FakeResult[] => results,
    /** The message of the response, 403, to requests that create a batch. */
    refusal: undefined as string | undefined,
    /** The status of the response to requests whose method and path it returns one for. */
    failure: (_request: string): number | undefined | Promise<number | undefined> => undefined,
    /** The batch is created, and its response is lost. */
    losesResponse: false,
    /** How running batches end. */
    outcome: "completed" as "completed" | "expired" | "failed",
    /** Why running batches fail. */
    reason: { code: "invalid_model", message: "The account has no access to the model." },
  };
  /** Method and path of every request. */
  const requests: string[] = [];
  let createdCount = 0;
  const state: FakeState = {
    get origin() {
      return server.url.origin;
    },
    files,
    deleted,
    newFileId: () => `file-${uploaded++}`,
    batches,
    create: (batch) => {
      const created: FakeBatch = {
        ...batch,
        // Never used again, also if a test forgets the batches before it: the gateway may still delete their files.
        id: kind === "gemini" ? `batches/b${createdCount++}` : `batch_${createdCount++}`,
        state: "validating",
        results: control.alter(embed(files.get(batch.inputFile) ?? "")),
      };
      batches.push(created);
      return created;
    },
    advance: (id) => {
      const batch = batches.find((each) => each.id === id);
      if (batch?.state === "validating") batch.state = "running";
      else if (batch?.state === "cancelling") end(batch, "cancelled");
      else if (batch?.state === "running" && control.isReady) end(batch, control.outcome);
      return batch;
    },
    cancel: (id) => {
      const batch = batches.find((each) => each.id === id);
      if (batch?.state === "validating" || batch?.state === "running") batch.state = "cancelling";
      return batch;
    },
  };
  const end = (batch: FakeBatch, outcome: FakeBatch["state"]): void => {
    batch.state = outcome;
    if (outcome === "failed") {
      batch.reason = control.reason;
      batch.results = [];
    } else if (outcome !== "completed") batch.results = batch.results.slice(0, control.partial);
  };
  const isCreation = ({ method, url }: Request): boolean =>
    method === "POST" &&
    /\/batches$|\/batch\/jobs$|asyncBatchEmbedContent$/.test(new URL(url).pathname);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request): Promise<Response> => {
      const { pathname } = new URL(request.url);
      requests.push(`${request.method} ${pathname}`);
      if (isCreation(request) && control.refusal !== undefined)
        return Response.json({ error: { message: control.refusal } }, { status: 403 });
      const failure = await control.failure(`${request.method} ${pathname}`);
      if (failure !== undefined)
        return Response.json({ error: { message: "The vendor is broken." } }, { status: failure });
      const creates = isCreation(request);
      const response = await dialects[kind].handle(request, state);
      if (creates && control.losesResponse) {
        control.losesResponse = false;
        return new Response("lost", { status: 500 });
      }
      return response ?? Response.json({ error: { message: "Unknown URL." } }, { status: 404 });
    },
  });
  return {
    /** The base URL for the configuration. */
    url: `${server.url.origin}/${kind === "gemini" ? "v1beta" : "v1"}`,
    control,
    batches,
    requests,
    files,
    deleted,
    close: () => server.stop(true),
  };
}
