/** Calls at a steady rate, whether the ones before are answered or not, and what became of each. */
import { key } from "./scenarios.ts";

export interface Called {
  /** Milliseconds since the load began. */
  readonly at: number;
  readonly ms: number;
  /** 0: no answer at all. */
  readonly status: number;
}

export interface SteadyLoad {
  readonly calls: readonly Called[];
  /** Milliseconds since it began. */
  now(): number;
  /** Takes up no more, and waits for those under way. */
  end(): Promise<void>;
}

let series = 0;

export function startLoad(url: string, perSecond: number): SteadyLoad {
  const calls: Called[] = [];
  const underWay = new Set<Promise<void>>();
  const began = performance.now();
  const name = `${process.pid}-${series++}`;
  let sent = 0;
  const now = (): number => performance.now() - began;
  const call = async (text: string): Promise<void> => {
    const at = now();
    const status = await fetch(`${url}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "faulty", input: text, encoding_format: "base64" }),
    }).then(
      async (answer) => {
        await answer.arrayBuffer();
        return answer.status;
      },
      () => 0,
    );
    calls.push({ at, ms: now() - at, status });
  };
  // Late ticks are made up for, so that the rate holds on a busy machine.
  const timer = setInterval(() => {
    const due = (now() * perSecond) / 1000;
    while (sent < due) {
      const asking = call(`${name} ${sent++}`);
      underWay.add(asking);
      void asking.finally(() => underWay.delete(asking));
    }
  }, 5);
  return {
    calls,
    now,
    end: async () => {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

export const percentile = (calls: readonly Called[], share: number): number => {
  const times = calls.map(({ ms }) => ms).sort((a, b) => a - b);
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
};

export const served = (calls: readonly Called[]): number =>
  calls.filter(({ status }) => status === 200).length / calls.length;
