/**
 * A steady load of official SDK clients through the load balancer. Every HTTP response is recorded with the fault
 * during which it was sent, so that each error can be explained and each completed request be found in the ledger.
 */
import OpenAI, { APIError } from "openai";
import { fakeVector } from "../fake-upstream.ts";
import { testKey } from "../harness.ts";
import { embeddingModel, imageModel } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import type { Topology } from "./topology.ts";

export interface ClientError {
  /** The faults during which the request was sent, and during which it failed. */
  readonly faults: readonly string[];
  /** Such as `502` (nginx), `503 ledger_unavailable`, or `connection`. */
  readonly error: string;
  readonly kind: "embeddings" | "images";
  /** The message of a connection error. */
  readonly detail?: string;
}

const sharedTexts = 40;

export class Load {
  readonly #topology: Pick<Topology, "url">;
  /** The fault that is injected now. */
  fault = "none";
  /** Equal image requests are sent at the same time, and repeated. Needs Redis, which joins them. */
  sendsDuplicates = true;
  /** Request ids of complete responses with 200 or 429. */
  readonly requestIds = new Set<string>();
  /** Wrong vectors, other images for the same key, and request ids of two responses. */
  readonly wrong: string[] = [];
  /** Single HTTP requests that failed. The SDK retries most of them. */
  readonly errors: ClientError[] = [];
  /** Calls of the SDK that failed after its retries. */
  readonly failedCalls: ClientError[] = [];
  completed = 0;
  images = 0;
  #duplicates = 0;
  #isStopped = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(topology: Pick<Topology, "url">) {
    this.#topology = topology;
  }

  /** `pauseMs`: between two requests of an embedding client, so that the replicas have time for the rest. */
  start(embeddingClients: number, imageClients: number, pauseMs: number): void {
    this.#running = Promise.all([
      ...Array.from({ length: embeddingClients }, (_, at) => this.#sendEmbeddings(at, pauseMs)),
      ...Array.from({ length: imageClients }, (_, at) => this.#sendImages(at)),
    ]);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  /** Resolves after this many more responses, and this time. */
  async progress(requests: number, ms = 0): Promise<void> {
    const end = performance.now() + ms;
    const goal = this.completed + requests;
    await until(() => this.completed >= goal && performance.now() >= end);
  }

  async stopDuplicates(): Promise<void> {
    this.sendsDuplicates = false;
    await until(() => this.#duplicates === 0);
  }

  client(apiKey: string, maxRetries: number): OpenAI {
    const kindOf = (url: unknown) => (String(url).includes("/images/") ? "images" : "embeddings");
    return new OpenAI({
      baseURL: `${this.#topology.url}/v1`,
      apiKey,
      maxRetries,
      timeout: 60_000,
      fetch: (url, init) => this.#fetch(url as string, init, kindOf(url)),
    });
  }

  async #fetch(
    url: string,
    init: RequestInit | undefined,
    kind: ClientError["kind"],
  ): Promise<Response> {
    const sentDuring = this.fault;
    const fail = (error: string, detail = ""): void => {
      this.errors.push({ faults: [sentDuring, this.fault], error, kind, detail });
    };
    let response: Response;
    let body: ArrayBuffer;
    try {
      response = await fetch(url, init);
      body = await response.arrayBuffer();
    } catch (error) {
      fail("connection", String(error));
      throw error;
    }
    const { status, headers } = response;
    const id = headers.get("x-request-id");
    if (status === 200 || status === 429) {
      if (id === null || this.requestIds.has(id)) this.wrong.push(`request id ${id}`);
      else this.requestIds.add(id);
      if (status === 200) this.completed++;
    } else fail(errorOf(status, headers, body));
    return new Response(body, { status, headers });
  }

  #failCall(sentDuring: string, error: unknown, kind: ClientError["kind"]): void {
    const { status, code } =
      error instanceof APIError ? error : { status: undefined, code: undefined };
    const text = [status ?? "connection", code].filter((part) => part).join(" ");
    this.failedCalls.push({ faults: [sentDuring, this.fault], error: text, kind });
  }

  async #sendEmbeddings(client: number, pauseMs: number): Promise<void> {
    const sdk = this.client(testKey, 2);
    for (let at = 0; !this.#isStopped; at++) {
      const sentDuring = this.fault;
      const own = `text ${at} of client ${client}`;
      const input = [own, `shared text ${at % sharedTexts}`];
      try {
        const { data } = await sdk.embeddings.create({
          model: embeddingModel,
          input,
          dimensions: 32,
        });
        const isRight = input.every((text, index) => {
          const expected = fakeVector(text, 32);
          const { embedding } = data[index] ?? { embedding: [] };
          return expected.every((value, axis) => Math.abs(value - (embedding[axis] ?? 9)) < 1e-6);
        });
        if (!isRight) this.wrong.push(`the vector of ${own}`);
      } catch (error) {
        this.#failCall(sentDuring, error, "embeddings");
      }
      await Bun.sleep(pauseMs);
    }
  }

  async #sendImages(client: number): Promise<void> {
    const sdk = this.client(testKey, 2);
    for (let at = 0; !this.#isStopped; at++) {
      const sentDuring = this.fault;
      const prompt = `image ${at} of client ${client}`;
      const generate = async (): Promise<string | undefined> => {
        try {
          const { data } = await sdk.images.generate(
            { model: imageModel, prompt, size: "1024x1024" },
            { headers: { "idempotency-key": prompt } },
          );
          this.images++;
          return data?.[0]?.b64_json;
        } catch (error) {
          this.#failCall(sentDuring, error, "images");
          return undefined;
        }
      };
      if (!this.sendsDuplicates) {
        await generate();
        continue;
      }
      this.#duplicates++;
      const images = await Promise.all([generate(), generate()]);
      // After an error, the client would decide to pay again.
      if (!images.includes(undefined)) images.push(await generate());
      this.#duplicates--;
      const different = new Set(images.filter((image) => image !== undefined));
      if (different.size > 1) this.wrong.push(`two images for the key of ${prompt}`);
    }
  }
}

function errorOf(status: number, headers: Headers, body: ArrayBuffer): string {
  if (!headers.get("content-type")?.includes("json")) return String(status);
  const { error } = JSON.parse(new TextDecoder().decode(body)) as { error?: { code?: string } };
  return `${status} ${error?.code ?? ""}`;
}
