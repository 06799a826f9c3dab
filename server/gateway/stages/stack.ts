/** The stages of each operation, in order. Order is policy, so it is all in this file. */
import { GatewayError } from "../../std/gateway-error.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  EmbeddingsReply,
  GenerationQuery,
  ImageReply,
  Target,
} from "../../upstream/contract.ts";
import type { Reach } from "../../upstream/reach.ts";
import type { Route } from "../resolve.ts";
import { adaptImages } from "./adapt.ts";
import { asAsked } from "./as-asked.ts";
import { type AttemptOptions, attempt } from "./attempt.ts";
import { type BatchOptions, batch } from "./batch.ts";
import { checkEmbeddings, checkImages } from "./check.ts";
import { ableTo, fit, learn, promise, type TraitsOf } from "./fit.ts";
import { type RememberOptions, remember } from "./remember.ts";
import { split } from "./split.ts";
import { type Call, type Send, through } from "./stage.ts";

export interface Stacks {
  readonly embeddings: Send<EmbeddingsQuery, EmbeddingsReply>;
  readonly generations: Send<GenerationQuery, ImageReply>;
  readonly edits: Send<EditQuery, ImageReply>;
}

export interface EmbeddingStages {
  readonly traits: TraitsOf;
  readonly memory: RememberOptions;
  readonly batch: Omit<BatchOptions, "traits">;
  readonly ask: NonNullable<AttemptOptions<EmbeddingsQuery, EmbeddingsReply>["ask"]>;
  /** Not to be asked, whatever it could do. */
  readonly strayed: (route: Route, target: Target) => boolean;
}

export const embeddingsStack = (
  reach: Reach["embeddings"],
  { traits, memory, batch: together, ask, strayed }: EmbeddingStages,
): Send<EmbeddingsQuery, EmbeddingsReply> => {
  const learned = learn(traits);
  const canDo = ableTo(learned.traits);
  const able = (call: Call<EmbeddingsQuery>, target: Target): boolean =>
    !strayed(call.route, target) && canDo(call, target);
  return through(
    [
      promise(learned.traits),
      remember(memory),
      split({ traits }),
      attempt({ able, ask }),
      batch({ ...together, traits }),
      checkEmbeddings,
      fit(learned),
    ],
    (call) => reach(call.query, targetOf(call), call.signal),
  );
};

export const imageStacks = (
  reach: Omit<Reach, "embeddings">,
): Pick<Stacks, "generations" | "edits"> => ({
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
