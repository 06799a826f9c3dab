/** More pictures than a target makes in one call: several calls side by side, gathered into one answer. */
import type { FaultName } from "../../../contract/faults.ts";
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
import { seedAfter } from "./seeds.ts";

/** One caller shall not take all of an upstream's places. */
const maxParallel = 4;

/** What could not be had of pictures of which others could. */
export interface Missing {
  readonly count: number;
  readonly fault: FaultName;
  /** What it failed with. Absent: there were fewer than the upstream was asked for. */
  readonly error?: unknown;
}

export const missingFor = (count: number, error: unknown): Missing => ({
  count,
  fault: faultOf(error),
  ...(error !== undefined && { error }),
});

export interface FanOut<Q> {
  readonly ask: (query: Q) => Promise<ImageReply>;
  /** The caller gets events: a failure can be the last of them. */
  readonly inEvents: boolean;
  /** Told when some of the pictures are there and others are not. */
  readonly onMissing: (missing: Missing) => void;
  /** Told that the target made one picture where it was asked for several: the others are asked for one by one. Absent: they are missing. */
  readonly onUncounted?: (() => void) | undefined;
}

/**
 * What has been paid for is delivered: when some of the calls fail, the answer holds the pictures of the others, and
 * says how many are missing and why. Only when none could be made is the first failure the answer.
 */
export async function fanOut<Q extends GenerationQuery>(
  { query, calls }: Pick<Plan<Q>, "query" | "calls">,
  { ask, inEvents, onMissing, onUncounted }: FanOut<Q>,
): Promise<ImageReply> {
  const asked = sumOfAll(calls);
  let { there, failure } = await askAll(query, calls, ask);
  const askOneByOne = (lacking: number): Promise<Gathered> => {
    onUncounted?.();
    return askAll(query, new Array<number>(lacking).fill(1), ask, calls);
  };
  const lacking = asked - countIn(there);
  if (onUncounted && !failure && there.every(isOne) && lacking > 0) {
    const more = await askOneByOne(lacking);
    there = [...there, ...more.there];
    failure = more.failure;
  }
  if (failure && there.length === 0) throw failure.error;
  const [only] = there;
  if (only?.kind === "stream" && calls.length === 1) {
    // How many it makes is seen only when it has ended.
    return onUncounted && asked > 1
      ? { kind: "stream", events: toppedUp(only.events, asked, askOneByOne) }
      : only;
  }
  if ((failure && inEvents) || there.some(({ kind }) => kind === "stream")) {
    return { kind: "stream", events: allOf(there, failure?.error) };
  }
  const whole = only && there.length === 1 ? (only as WholeReply) : together(there as WholeReply[]);
  const count = asked - whole.results.length;
  if (count > 0) onMissing(missingFor(count, failure?.error));
  return whole;
}

interface Failure {
  readonly at: number;
  readonly error: unknown;
}

interface Gathered {
  readonly there: readonly ImageReply[];
  readonly failure: Failure | undefined;
}

/** `before`: the calls that were made before these. */
async function askAll<Q extends GenerationQuery>(
  query: Q,
  calls: readonly number[],
  ask: FanOut<Q>["ask"],
  before: readonly number[] = [],
): Promise<Gathered> {
  const replies: (ImageReply | undefined)[] = calls.map(() => undefined);
  const failures: Failure[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < calls.length) {
      const at = next++;
      try {
        const earlier = [...before, ...calls.slice(0, at)];
        replies[at] = await ask(withCount(query, calls[at] as number, earlier));
      } catch (error) {
        failures.push({ at, error });
        // Where one was refused, so will the others be: none is paid for in vain.
        if (!(error instanceof GatewayError) || error.row.blame === "client") next = calls.length;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(maxParallel, calls.length) }, work));
  const [failure] = failures.toSorted((a, b) => a.at - b.at);
  return { there: replies.filter((reply) => reply !== undefined), failure };
}

const sumOfAll = (counts: readonly number[]): number => counts.reduce((sum, each) => sum + each, 0);

const countIn = (replies: readonly ImageReply[]): number =>
  replies.reduce((sum, reply) => sum + (reply.kind === "whole" ? reply.results.length : 0), 0);

const isOne = (reply: ImageReply): boolean => reply.kind === "whole" && reply.results.length === 1;

/** Without a failure there are fewer than the upstream was asked for. */
const faultOf = (error: unknown): FaultName =>
  error === undefined
    ? "upstream_invalid"
    : error instanceof GatewayError
      ? error.fault
      : "internal";

/** One picture is what every upstream makes unasked, and some have no word for it. */
const withCount = <Q extends GenerationQuery>(
  query: Q,
  count: number,
  earlier: readonly number[],
): Q => {
  const { n: _, ...options } = query.options;
  const counted = { ...query, options: count === 1 ? options : { ...options, n: count } };
  if (earlier.length === 0) return counted;
  return { ...counted, rest: seedAfter(query.rest, sumOfAll(earlier)), part: earlier.length };
};

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

/**
 * A stream can tell of a failure at its end, after what has come: one of several that breaks off does not take the others
 * along.
 */
async function* allOf(
  replies: readonly ImageReply[],
  failure: unknown,
): AsyncGenerator<ImageEvent> {
  const failures: unknown[] = failure === undefined ? [] : [failure];
  const kept = async function* (reply: ImageReply): AsyncGenerator<ImageEvent> {
    try {
      yield* eventsOf(reply);
    } catch (error) {
      failures.push(error);
    }
  };
  yield* merged(replies.map(kept));
  if (failures.length > 0) throw failures[0];
}

/** The stream of a server that may make one picture, whatever it is asked for; then the others are asked for. */
async function* toppedUp(
  events: AsyncIterable<ImageEvent>,
  asked: number,
  askOneByOne: (lacking: number) => Promise<Gathered>,
): AsyncGenerator<ImageEvent> {
  let came = 0;
  for await (const event of events) {
    if (event.type === "whole") came += event.reply.results.length;
    else if (event.type === "completed") came++;
    yield event;
  }
  if (came !== 1) return;
  const { there, failure } = await askOneByOne(asked - came);
  yield* allOf(there, failure?.error);
}

async function* eventsOf(reply: ImageReply): AsyncGenerator<ImageEvent> {
  if (reply.kind === "whole") yield { type: "whole", reply };
  else yield* reply.events;
}
