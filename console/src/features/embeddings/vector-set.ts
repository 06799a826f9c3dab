/** A worker that reads texts, or holds the vectors of one model and computes everything that depends on them. */
import type { VectorOperations, VectorRequest, VectorResponse } from "./vector-worker.ts";

type Name = keyof VectorOperations;
type Argument<N extends Name> = Parameters<VectorOperations[N]>[0];
type Result<N extends Name> = Awaited<ReturnType<VectorOperations[N]>>;

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: ((share: number) => void) | undefined;
}

const workerUrl = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="vector-worker"]')?.content ?? "";

export class VectorSet {
  readonly #worker = new Worker(workerUrl(), { type: "module" });
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<VectorResponse>) => {
      const pending = this.#pending.get(data.id);
      if (data.type === "progress") return pending?.onProgress?.(data.share);
      this.#pending.delete(data.id);
      if (data.type === "done") pending?.resolve(data.result);
      else pending?.reject(new Error(data.reason));
    };
    this.#worker.onerror = ({ message }) => {
      for (const { reject } of this.#pending.values()) reject(new Error(message));
      this.#pending.clear();
    };
  }

  /** Never settles after `close`. A buffer is transferred to the worker. */
  call<N extends Name>(
    name: N,
    argument: Argument<N>,
    onProgress?: (share: number) => void,
  ): Promise<Result<N>> {
    this.#lastId++;
    const request: VectorRequest = { id: this.#lastId, name, argument };
    return new Promise((resolve, reject) => {
      this.#pending.set(request.id, {
        resolve: resolve as (result: unknown) => void,
        reject,
        onProgress,
      });
      this.#worker.postMessage(request, argument instanceof ArrayBuffer ? [argument] : []);
    });
  }

  close(): void {
    this.#worker.terminate();
    this.#pending.clear();
  }
}
