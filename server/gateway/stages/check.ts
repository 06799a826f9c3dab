/** Runs step 13 inside every attempt, so that a lie is a fault of that target and the next may be asked. */
import type {
  EmbeddingsQuery,
  EmbeddingsReply,
  GenerationQuery,
  ImageReply,
} from "../../upstream/contract.ts";
import { believedEmbeddings, believedImages, type Disbelieved } from "../believe.ts";
import { verifyEmbeddings, verifyImages } from "../verify.ts";
import type { Call, Stage } from "./stage.ts";

export interface CheckOptions {
  /** What a target said that it counted, and cannot have. */
  readonly onDisbelieved: (call: Call<unknown>, told: Disbelieved) => void;
}

export const checkEmbeddings =
  ({ onDisbelieved }: CheckOptions): Stage<EmbeddingsQuery, EmbeddingsReply> =>
  (next) =>
  (call) =>
    next(call).then((reply) =>
      believedEmbeddings(
        verifyEmbeddings(reply, call.query, call.route.dimensions),
        call,
        onDisbelieved,
      ),
    );

export const checkImages =
  <Q extends GenerationQuery>({ onDisbelieved }: CheckOptions): Stage<Q, ImageReply> =>
  (next) =>
  async (call) =>
    believedImages(verified(await next(call)), call.query, (told) => {
      call.trip.step(`${told.what} not believed`);
      onDisbelieved(call, told);
    });

/** Of several, each is looked at by itself when it is finished: one that is none does not take the others along. */
const verified = (reply: ImageReply): ImageReply =>
  reply.kind === "whole" && reply.results.length > 1 ? reply : verifyImages(reply);
