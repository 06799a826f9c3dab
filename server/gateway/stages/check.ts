/** Runs step 13 inside every attempt, so that a lie is a fault of that target and the next may be asked. */
import type {
  EmbeddingsQuery,
  EmbeddingsReply,
  GenerationQuery,
  ImageReply,
} from "../../upstream/contract.ts";
import { verifyEmbeddings, verifyImages } from "../verify.ts";
import type { Stage } from "./stage.ts";

export const checkEmbeddings: Stage<EmbeddingsQuery, EmbeddingsReply> = (next) => (call) =>
  next(call).then((reply) => verifyEmbeddings(reply, call.query, call.route.dimensions));

export const checkImages =
  <Q extends GenerationQuery>(): Stage<Q, ImageReply> =>
  (next) =>
  async (call) =>
    verifyImages(await next(call));
