/** The clients of the failover run: they use up every limit, and record every response. */
import { fakeVector } from "../../test/fake-upstream/vectors.ts";
import { budgetKeys, type LimitedKey, model, ratedKeys, slotKeys, slowModel } from "./keys.ts";
import { dimensions } from "./upstream.ts";

export interface ClientResponse {
  readonly key: LimitedKey;
  readonly requestId: string;
  readonly status: number;
  readonly sentAt: number;
  readonly endedAt: number;
}

/** More than the 200 that the rate limits of all keys together allow. */
const ratedPerSecond = 400;
const ratedClients = 32;
const clientsPerSlotKey = 4;
export const clientsPerBudgetKey = 3;
const budgetPauseMs = 500;

export class Clients {
  readonly responses: ClientResponse[] = [];
  /** Unexpected statuses, connection errors, and wrong vectors. */
  readonly failures: string[] = [];
  readonly #urls: readonly string[];
  #sent = 0;
  #isStopped = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  start(): void {
    this.#running = Promise.all([
      this.#sendRated(),
      ...slotKeys.flatMap((key) => this.#clients(clientsPerSlotKey, key, 0)),
      ...budgetKeys.flatMap((key) => this.#clients(clientsPerBudgetKey, key, budgetPauseMs)),
    ]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** All keys in turn, at a fixed rate unless the gateways are slower. */
  async #sendRated(): Promise<void> {
    const startedAt = performance.now();
    let next = 0;
    const run = async (): Promise<void> => {
      while (!this.#isStopped) {
        const at = next++;
        await Bun.sleep(Math.max(0, startedAt + (at * 1000) / ratedPerSecond - performance.now()));
        const key = ratedKeys[at % ratedKeys.length];
        if (key) await this.#send(key);
      }
    };
    await Promise.all(Array.from({ length: ratedClients }, run));
  }

  #clients(count: number, key: LimitedKey, pauseMs: number): Promise<void>[] {
    return Array.from({ length: count }, async () => {
      while (!this.#isStopped) {
        await this.#send(key);
        await Bun.sleep(pauseMs);
      }
    });
  }

  async #send(key: LimitedKey): Promise<void> {
    const number = this.#sent++;
    const url = this.#urls[Math.floor(Math.random() * this.#urls.length)];
    const input = `${key.name} ${number}`;
    const sentAt = performance.now();
    try {
      const response = await fetch(`${url}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${key.key}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: slotKeys.includes(key) ? slowModel : model,
          input,
          dimensions,
        }),
      });
      const body = (await response.json()) as EmbeddingsBody;
      const { status } = response;
      const requestId = response.headers.get("x-request-id") ?? "";
      this.responses.push({ key, requestId, status, sentAt, endedAt: performance.now() });
      if (status === 200 && !isVectorOf(input, body))
        this.failures.push(`a wrong vector: ${input}`);
      if (status !== 200 && status !== 429)
        this.failures.push(`${status} ${body.error?.code} for ${key.name}`);
    } catch (error) {
      this.failures.push(`${error} for ${key.name}`);
    }
  }
}

interface EmbeddingsBody {
  readonly data?: readonly { readonly embedding: readonly number[] }[];
  readonly error?: { readonly code?: string };
}

function isVectorOf(text: string, { data }: EmbeddingsBody): boolean {
  const vector = data?.[0]?.embedding ?? [];
  return fakeVector(text, dimensions).every(
    (value, at) => Math.abs(value - (vector[at] ?? 9)) < 1e-6,
  );
}
