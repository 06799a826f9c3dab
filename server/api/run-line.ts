/** Runs a line of a job through the request pipeline: limits, budgets, cache, routing, verification and ledger. */
import type { JobLine } from "../jobs/job-kind.ts";
import { LineRequest, linePaths, type RunLine } from "../jobs/line-request.ts";
import type { Endpoint } from "../pipeline/endpoint.ts";
import type { Serve } from "../pipeline/handle-request.ts";
import type { StageLists } from "../pipeline/stages.ts";
import type { EditQuery, GenerationQuery, ImageResponse } from "../upstream/contract.ts";
import { embeddingsEndpoint } from "./embeddings.ts";
import { generationsEndpoint } from "./generations.ts";
import { mergedEndpoint } from "./merged-lines.ts";

interface RunLineOptions {
  readonly serve: Serve;
  readonly send: StageLists;
  readonly maxInputs: number;
  /** The stages of lines that the batch of a vendor has run. */
  readonly vendorSend: Pick<StageLists, "embeddings" | "generations">;
  readonly edits: Endpoint<EditQuery, ImageResponse>;
}

export function createRunLine({
  serve,
  send,
  vendorSend,
  maxInputs,
  edits,
}: RunLineOptions): RunLine {
  const embeddings = embeddingsEndpoint({ maxInputs });
  const ofAnySize = embeddingsEndpoint({ maxInputs: Number.POSITIVE_INFINITY });
  return (request, caller) => {
    const { line } = request;
    const { operation } = line;
    const incoming = new LineRequest({ ...request, path: linePaths[operation] });
    if (operation === "embeddings") {
      const { inputsOfLines, vendor } = line;
      // The vendor has embedded as many inputs as a request could have then.
      const single = vendor ? ofAnySize : embeddings;
      const endpoint = inputsOfLines ? mergedEndpoint(ofAnySize, inputsOfLines) : single;
      const stages = vendor ? vendorSend.embeddings : send.embeddings;
      return serve(endpoint, stages, incoming, undefined, caller);
    }
    if (operation === "edits")
      return serve(validated(edits, line), send.edits, incoming, undefined, caller);
    const { generations } = line.vendor ? vendorSend : send;
    return serve(validated(generationsEndpoint, line), generations, incoming, undefined, caller);
  };
}

/** The query of an image job was read when the job was submitted. */
function validated<Q extends GenerationQuery | EditQuery, A>(
  endpoint: Endpoint<Q, A>,
  { query }: JobLine,
): Endpoint<Q, A> {
  if (!query) return endpoint;
  return {
    ...endpoint,
    read: async (_incoming, _keyId, nameModel) => {
      nameModel(query.model);
      return { query: query as Q };
    },
  };
}
