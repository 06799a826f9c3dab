/** Open-loop load: requests at a constant rate, whether or not earlier ones have completed, and the outcome of each. */
import { key } from "./scenarios.ts";

export interface CompletedRequest {
  /** Milliseconds since the load began. */
  readonly at: number;
  readonly ms: number;
  /** 0: no response. */
  readonly status: number;
}

interface SteadyLoad {
  readonly requests: readonly CompletedRequest[];
  /** Milliseconds since the load began. */
  now(): number;
  /** Starts no more requests, and waits for those in flight. */
  end(): Promise<void>;
}

let series = 0;

export function startLoad(url: string, perSecond: number, model = "faulty"): SteadyLoad {
  const requests: CompletedRequest[] = [];
  const inFlight = new Set<Promise<void>>();
  const began = performance.now();
  const name = `${process.pid}-${series++}`;
  let sent = 0;
  const now = (): number => performance.now() - began;
  const send = async (text: string): Promise<void> => {
    const at = now();
    const status = await fetch(`${url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, input: text, encoding_format: "base64" }),
    }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    requests.push({ at, ms: now() - at, status });
  };
  // Late ticks are caught up, so that the rate holds on a busy machine.
  const timer = setInterval(() => {
    const due = (now() * perSecond) / 1000;
    while (sent < due) {
      const request = send(`${name} ${sent++}`);
      inFlight.add(request);
      void request.finally(() => inFlight.delete(request));
    }
  }, 5);
  return {
    requests,
    now,
    end: async () => {
      clearInterval(timer);
      await Promise.all(inFlight);
    },
  };
}

export const percentile = (requests: readonly CompletedRequest[], share: number): number => {
  const times = requests.map(({ ms }) => ms).sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
};

export const successRate = (requests: readonly CompletedRequest[]): number =>
  requests.filter(({ status }) => status === 200).length / requests.length;
