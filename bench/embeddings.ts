/** How the bench's upstream answers embeddings: at once, or with slots that each take their time. */

import { vectors } from "./vectors.ts";

export const headers = {
  "content-type": "application/json",
  "access-control-expose-headers": "X-Request-ID",
  "openai-model": "text-embedding-3-small",
  "openai-organization": "org-bench",
  "openai-processing-ms": "23",
  "openai-version": "2020-10-01",
  "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
  "x-ratelimit-limit-requests": "5000",
  "x-ratelimit-limit-tokens": "1000000",
  "x-ratelimit-remaining-requests": "4999",
  "x-ratelimit-remaining-tokens": "999990",
  "x-ratelimit-reset-requests": "12ms",
  "x-ratelimit-reset-tokens": "0s",
  "x-request-id": "req_bench0123456789abcdef01234567",
};

interface Asked {
  readonly model: string;
  readonly input: string | readonly string[];
  readonly encoding_format?: string;
}

const tokensEach = 9;
/** Written once: the upstream shares its core with the load, and must not be what limits. */
const written = new Map<string, Uint8Array>();

function answerOf(model: string, count: number): Uint8Array {
  const name = `${model} ${count}`;
  const before = written.get(name);
  if (before) return before;
  const data = Array.from({ length: count }, (_, index) => ({
    object: "embedding",
    index,
    embedding: vectors[index % vectors.length],
  }));
  const tokens = count * tokensEach;
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  const bytes = Buffer.from(JSON.stringify({ object: "list", data, model, usage }));
  written.set(name, bytes);
  return bytes;
}

export async function answerAtOnce(request: Request): Promise<Response> {
  const { model, input, encoding_format } = (await request.json()) as Asked;
  // The bench is about upstreams that are asked for base64; anything else would be another measurement.
  if (encoding_format !== "base64") return new Response("not base64", { status: 400 });
  return new Response(answerOf(model, typeof input === "string" ? 1 : input.length), { headers });
}

type Answer = (request: Request) => Promise<Response>;

/** So many calls at a time, each for so long however many inputs it has; the others queue, the first first. */
export function answerInSlots({ slots, ms }: { slots: number; ms: number }): Answer {
  const queue: (() => void)[] = [];
  let here = 0;
  const enter = (): Promise<void> => {
    here++;
    return here <= slots ? Promise.resolve() : new Promise((resolve) => queue.push(resolve));
  };
  return async (request) => {
    await enter();
    try {
      await Bun.sleep(ms);
      return await answerAtOnce(request);
    } finally {
      here--;
      queue.shift()?.();
    }
  };
}

/** What the upstream tells about itself. */
export interface Tally {
  readonly answered: number;
  /** Calls that wait for their answer, whether or not anybody still wants it. */
  readonly inHand: number;
}

export function createTally(): { readonly read: () => Tally; count(answer: Answer): Answer } {
  let [answered, inHand] = [0, 0];
  return {
    read: () => ({ answered, inHand }),
    count: (answer) => async (request) => {
      inHand++;
      try {
        return await answer(request);
      } finally {
        inHand--;
        answered++;
      }
    },
  };
}

export async function tallyOf(upstream: string): Promise<Tally> {
  const answer = await fetch(`${upstream}/tally`);
  return (await answer.json()) as Tally;
}
