/**
 * Batch scheduler of the child process: tokenizes requests, batches their inputs, and sends partial responses as they
 * are computed.
 */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { Responder } from "../../process/serve-parent.ts";
import type { EmbedRequest, EmbedResponsePart } from "../messages.ts";
import type { Model, Tokenized } from "../model.ts";
import { type BatchLimits, batchLimits, planBatch } from "./plan-batch.ts";
import { readTexts } from "./read-texts.ts";

interface Job {
  readonly id: number;
  /** Tokenizes the next text; done after the last. */
  readonly reading: Iterator<void, readonly Tokenized[]>;
  left: number;
}

interface QueuedInput extends Tokenized {
  readonly job: Job;
  /** Its index in the response. */
  readonly index: number;
  /** Inputs run in this order (fair queueing), so that a small request does not wait for all of a large one. */
  readonly turn: number;
}

/** How long tokenizing may delay the next batch. */
const tokenizingMs = 10;

export class BatchScheduler {
  readonly #model: Model;
  readonly #responses: Responder<EmbedResponsePart>;
  readonly #limits: BatchLimits;
  readonly #jobs = new Map<number, Job>();
  #untokenized: Job[] = [];
  #queued: QueuedInput[] = [];
  #currentTurn = 0;
  #working = false;

  constructor(
    model: Model,
    responses: Responder<EmbedResponsePart>,
    limits: BatchLimits = batchLimits,
  ) {
    this.#model = model;
    this.#responses = responses;
    this.#limits = limits;
  }

  add(id: number, request: EmbedRequest): void {
    const job: Job = { id, reading: readTexts(this.#model, request), left: request.texts.length };
    this.#jobs.set(id, job);
    this.#untokenized.push(job);
    if (!this.#working) void this.#work();
  }

  /** A running batch is finished, and its result is dropped. */
  cancel(id: number): void {
    this.#jobs.delete(id);
    this.#untokenized = this.#untokenized.filter((job) => job.id !== id);
    this.#queued = this.#queued.filter(({ job }) => job.id !== id);
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#untokenized.length > 0 || this.#queued.length > 0) {
      this.#tokenize(performance.now() + tokenizingMs);
      await this.#runBatch();
      // Yields to the event loop, which a run blocks, so that new requests and cancellations arrive.
      await new Promise((resume) => setImmediate(resume));
    }
    this.#working = false;
  }

  #tokenize(until: number): void {
    do {
      const job = this.#untokenized.shift();
      if (!job) return;
      try {
        const step = job.reading.next();
        if (step.done) this.#enqueue(job, step.value);
        else this.#untokenized.push(job);
      } catch (error) {
        this.#fail(job, error);
      }
    } while (performance.now() < until);
  }

  /** Sorted by length, so that neighbors in the queue fit into one batch. */
  #enqueue(job: Job, inputs: readonly Tokenized[]): void {
    const added = inputs
      .map((input, index) => ({ ...input, job, index }))
      .sort((a, b) => a.ids.length - b.ids.length)
      .map((input, i) => ({ ...input, turn: this.#currentTurn + i }));
    this.#queued = [...this.#queued, ...added].sort((a, b) => a.turn - b.turn);
  }

  async #runBatch(): Promise<void> {
    const first = this.#queued[0];
    if (!first) return;
    this.#currentTurn = first.turn;
    const indexes = planBatch(
      this.#queued.map(({ ids }) => ids.length),
      this.#limits,
    );
    const batch = indexes.flatMap((index) => this.#queued[index] ?? []);
    const taken = new Set(batch);
    this.#queued = this.#queued.filter((input) => !taken.has(input));
    try {
      this.#deliver(batch, await this.#model.embed(batch));
    } catch (error) {
      for (const { job } of batch) this.#fail(job, error);
    }
  }

  #deliver(batch: readonly QueuedInput[], vectors: Float32Array): void {
    const { dimensions } = this.#model;
    if (vectors.length !== batch.length * dimensions) {
      throw new GatewayError("upstream_invalid", "The model gave vectors of another length.");
    }
    for (const [job, rows] of Map.groupBy(batch.keys(), (row) => batch[row]!.job)) {
      if (!this.#jobs.has(job.id)) continue;
      const packed = new Float32Array(rows.length * dimensions);
      rows.forEach((row, i) => {
        packed.set(vectors.subarray(row * dimensions, (row + 1) * dimensions), i * dimensions);
      });
      const inputs = rows.map((row) => batch[row]!);
      job.left -= inputs.length;
      const tokens = inputs.map(({ ids }) => ids.length);
      const indexes = inputs.map(({ index }) => index);
      this.#responses.send(job.id, { indexes, vectors: packed, tokens }, job.left === 0);
      if (job.left === 0) this.#jobs.delete(job.id);
    }
  }

  #fail(job: Job, error: unknown): void {
    if (!this.#jobs.has(job.id)) return;
    this.cancel(job.id);
    this.#responses.fail(job.id, error);
  }
}
