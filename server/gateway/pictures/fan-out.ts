/** More pictures than a target makes in one call: several calls side by side, gathered into one answer. */
import { GatewayError } from "../../std/gateway-error.ts";
import type {
  GenerationQuery,
  ImageEvent,
  ImageReply,
  WholeReply,
} from "../../upstream/contract.ts";
import { sumOf } from "../image-usage.ts";
import { merged } from "./merged.ts";
import type { Plan } from "./plan.ts";

/** One caller shall not take all of an upstream's places. */
const maxParallel = 4;

/** What could not be had of pictures of which others could. */
export interface Missing {
  readonly count: number;
  readonly fault: string;
}

export interface FanOut<Q> {
  readonly ask: (query: Q) => Promise<ImageReply>;
  /** The caller gets events: a failure can be the last of them. */
  readonly inEvents: boolean;
  /** Told when some of the pictures are there and others are not. */
  readonly onMissing: (missing: Missing) => void;
}

/**
 * What has been paid for is delivered: when some of the calls fail, the answer holds the pictures of the others, and
 * says how many are missing and why. Only when none could be made is the first failure the answer.
 */
export async function fanOut<Q extends GenerationQuery>(
  { query, calls }: Plan<Q>,
  { ask, inEvents, onMissing }: FanOut<Q>,
): Promise<ImageReply> {
  const [only = 1] = calls;
  if (calls.length === 1) {
    const reply = await ask(withCount(query, only, 0));
    if (reply.kind === "whole") tellMissing(reply, calls, "upstream_invalid", onMissing);
    return reply;
  }
  const replies: (ImageReply | undefined)[] = calls.map(() => undefined);
  const failures: { readonly at: number; readonly error: unknown }[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < calls.length) {
      const at = next++;
      try {
        replies[at] = await ask(withCount(query, calls[at] as number, at));
      } catch (error) {
        failures.push({ at, error });
        // Where one was refused, so will the others be: none is paid for in vain.
        if (!(error instanceof GatewayError) || error.row.blame === "client") next = calls.length;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(maxParallel, calls.length) }, work));
  const there = replies.filter((reply) => reply !== undefined);
  const [failure] = failures.toSorted((a, b) => a.at - b.at);
  if (failure && there.length === 0) throw failure.error;
  if ((failure && inEvents) || there.some(({ kind }) => kind === "stream")) {
    return { kind: "stream", events: allOf(there, failure?.error) };
  }
  const whole = together(there as WholeReply[]);
  if (failure) {
    const { error } = failure;
    tellMissing(whole, calls, error instanceof GatewayError ? error.fault : "internal", onMissing);
  } else tellMissing(whole, calls, "upstream_invalid", onMissing);
  return whole;
}

/** One picture is what every upstream makes unasked, and some have no word for it. */
const withCount = <Q extends GenerationQuery>(query: Q, count: number, at: number): Q => {
  const { n: _, ...options } = query.options;
  const counted = { ...query, options: count === 1 ? options : { ...options, n: count } };
  if (at === 0) return counted;
  const { seed } = query.rest;
  // The same seed would make the same picture again.
  const rest = typeof seed === "number" ? { ...query.rest, seed: seed + at } : query.rest;
  return { ...counted, rest, part: at };
};

function tellMissing(
  { results }: WholeReply,
  calls: readonly number[],
  fault: string,
  onMissing: FanOut<never>["onMissing"],
): void {
  const count = calls.reduce((sum, each) => sum + each, 0) - results.length;
  if (count > 0) onMissing({ count, fault });
}

function together(replies: readonly WholeReply[]): WholeReply {
  const [first] = replies;
  if (!first) throw new GatewayError("internal", "Nothing was gathered.");
  // Known of all, or not at all.
  const usage = replies.every((reply) => reply.usage)
    ? replies.map((reply) => reply.usage).reduce(sumOf, undefined)
    : undefined;
  const cost = replies.every((reply) => reply.cost !== undefined)
    ? replies.reduce((sum, reply) => sum + (reply.cost ?? 0), 0)
    : undefined;
  const facts = Object.fromEntries(
    Object.entries(first.facts).filter(([name, value]) =>
      replies.every((reply) => reply.facts[name as keyof typeof reply.facts] === value),
    ),
  );
  const { usage: _, cost: __, ...others } = first;
  return {
    ...others,
    facts,
    results: replies.flatMap(({ results }) => results),
    ...(usage && { usage }),
    ...(cost !== undefined && { cost }),
  };
}

/** A stream can tell of a failure at its end, after what has come. */
async function* allOf(
  replies: readonly ImageReply[],
  failure: unknown,
): AsyncGenerator<ImageEvent> {
  yield* merged(replies.map(eventsOf));
  if (failure !== undefined) throw failure;
}

async function* eventsOf(reply: ImageReply): AsyncGenerator<ImageEvent> {
  if (reply.kind === "whole") yield { type: "whole", reply };
  else yield* reply.events;
}
