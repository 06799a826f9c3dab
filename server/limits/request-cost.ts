/** How much a call asks for, guessed before it is made, and how much it was once it is over. */
import type { GatewayError } from "../lib/gateway-error.ts";
import type { Usage } from "../request/operation.ts";
import { loadOf } from "../request/request-load.ts";
import type { Trip } from "../request/request-record.ts";
import type { EmbeddingInput, EmbeddingsQuery, GenerationQuery } from "../upstream/contract.ts";
import { parseSize } from "../upstream/image-sizes.ts";
import { mayBeBilled } from "../upstream/may-have-been-billed.ts";
import type { Demand } from "./limit-scope.ts";
import { noDemand } from "./limiter.ts";

/** What pictures have where nobody says how large they are to be: 1024x1024. */
const defaultPixels = 1024 * 1024;
/** No model makes more in one call: whoever asks for more is told so further on, and not that it is too much for a minute. */
const maxImages = 10;

export type LimitedQuery = EmbeddingsQuery | GenerationQuery;

export function demandOf(query: LimitedQuery): Demand {
  if ("input" in query) {
    return { requests: 1, tokens: loadOf(query.input).tokens, images: 0, pixels: 0 };
  }
  const images = Math.min(maxImages, query.options.n ?? 1);
  const size = parseSize(query.options.size ?? "");
  const pixels = images * (size ? size.width * size.height : defaultPixels);
  return { requests: 1, tokens: loadOf(prompt(query)).tokens, images, pixels };
}

const prompt = ({ prompt: text }: GenerationQuery): EmbeddingInput => ({
  kind: "text",
  texts: [text],
});

/** Turns of its key that it uses up while it waits: more for a large call, within reason. */
export const queueTurnsOf = ({ tokens, images }: Demand): number =>
  Math.min(maxTurns, Math.max(1, images, Math.ceil(tokens / tokensPerTurn)));

const maxTurns = 16;
const tokensPerTurn = 8192;

export interface RequestOutcome {
  readonly usage: Usage | undefined;
  /** An upstream was asked. */
  readonly asked: boolean;
  readonly error: GatewayError | undefined;
}

/** Whether a call that ended so has come to an upstream, or may have. */
export const reachedUpstream = (
  { attempts, reached }: Trip,
  error: GatewayError | undefined,
): boolean => attempts > 0 && (reached || !error?.details.unsent);

/**
 * What is not told stays as it was guessed, unless nothing can have been made. The request itself counts, unless nobody was
 * asked and that was not the caller's doing.
 */
export function actualDemand(guess: Demand, { usage, asked, error }: RequestOutcome): Demand {
  if (error && !asked && isGatewayError(error)) return noDemand;
  const made = !error || (asked && mayHaveBeenGenerated(error));
  const images = usage?.images ?? (made ? guess.images : 0);
  const each = guess.images > 0 ? guess.pixels / guess.images : 0;
  return {
    requests: guess.requests,
    tokens: tokensOf(usage) ?? (made ? guess.tokens : 0),
    images,
    pixels: Math.round(images * each),
  };
}

function tokensOf(usage: Usage | undefined): number | undefined {
  if (usage?.inputTokens === undefined) return undefined;
  return usage.inputTokens + (usage.outputTokens ?? 0);
}

/** The house is full, or nobody behind it serves. */
const isGatewayError = ({ row }: GatewayError): boolean =>
  row.blame !== "client" || row.retry === "later";

/** A caller who leaves takes nothing back: the upstream may have gone on without them. */
const mayHaveBeenGenerated = (error: GatewayError): boolean =>
  mayBeBilled(error) || (error.fault === "client_closed" && !error.details.unsent);
