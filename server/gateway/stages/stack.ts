/** The stages of each operation, in order. Order is policy, so it is all in this file. */
import { GatewayError } from "../../std/gateway-error.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  EmbeddingsReply,
  GenerationQuery,
  ImageReply,
} from "../../upstream/contract.ts";
import type { Reach } from "../../upstream/reach.ts";
import { adaptImages } from "./adapt.ts";
import { asAsked } from "./as-asked.ts";
import { attempt } from "./attempt.ts";
import { checkEmbeddings, checkImages } from "./check.ts";
import { type Call, type Send, through } from "./stage.ts";

export interface Stacks {
  readonly embeddings: Send<EmbeddingsQuery, EmbeddingsReply>;
  readonly generations: Send<GenerationQuery, ImageReply>;
  readonly edits: Send<EditQuery, ImageReply>;
}

export const buildStacks = (reach: Reach): Stacks => ({
  embeddings: through([attempt(), checkEmbeddings], (call) =>
    reach.embeddings(call.query, targetOf(call), call.signal),
  ),
  generations: through([adaptImages(), asAsked(), attempt(), checkImages()], (call) =>
    reach.generations(call.query, targetOf(call), call.signal),
  ),
  edits: through([adaptImages(), asAsked(), attempt(), checkImages()], (call) =>
    reach.edits(call.query, targetOf(call), call.signal),
  ),
});

function targetOf<Q>({ target }: Call<Q>) {
  if (!target) throw new GatewayError("internal", "No stage chose a target.");
  return target;
}
