/**
 * Batch scheduler of the child process: tokenizes requests, batches their inputs, and sends partial responses as they
 * are computed.
 */

import { GatewayError } from "../../../lib/gateway-error.ts";
import { nextTurn } from "../../../lib/tasks.ts";
import type { Responder } from "../../process/serve-parent.ts";
import {
  type EmbedRequest,
  type EmbedResponsePart,
  type LoadedModel,
  maxCharacters,
  type Tokenized,
} from "../messages.ts";

interface EmbedTask {
  readonly id: number;
  /** Tokenizes the next text; done after the last. */
  readonly reading: Iterator<void, readonly Tokenized[]>;
  left: number;
}

interface QueuedInput extends Tokenized {
  readonly task: EmbedTask;
  /** Its index in the response. */
  readonly index: number;
  /** Inputs run in this order (fair queueing), so that a small request does not wait for all of a large one. */
  readonly turn: number;
}

/** How long tokenizing may delay the next batch. */
const tokenizingMs = 10;

export class BatchScheduler {
  readonly #model: LoadedModel;
  readonly #responses: Responder<EmbedResponsePart>;
  readonly #limits: BatchLimits;
  readonly #tasks = new Map<number, EmbedTask>();
  #untokenized: EmbedTask[] = [];
  #queued: QueuedInput[] = [];
  #currentTurn = 0;
  #working = false;

  constructor(
    model: LoadedModel,
    responses: Responder<EmbedResponsePart>,
    limits: BatchLimits = batchLimits,
  ) {
    this.#model = model;
    this.#responses = responses;
    this.#limits = limits;
  }

  add(id: number, request: EmbedRequest): void {
    const task: EmbedTask = {
      id,
      reading: readTexts(this.#model, request),
      left: request.texts.length,
    };
    this.#tasks.set(id, task);
    this.#untokenized.push(task);
    if (!this.#working) void this.#work();
  }

  /** A running batch is finished, and its result is dropped. */
  cancel(id: number): void {
    this.#tasks.delete(id);
    this.#untokenized = this.#untokenized.filter((task) => task.id !== id);
    this.#queued = this.#queued.filter(({ task }) => task.id !== id);
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#untokenized.length > 0 || this.#queued.length > 0) {
      this.#tokenize(performance.now() + tokenizingMs);
      await this.#runBatch();
      // Yields to the event loop, which a run blocks, so that new requests and cancellations arrive.
      await nextTurn();
    }
    this.#working = false;
  }

  #tokenize(until: number): void {
    do {
      const task = this.#untokenized.shift();
      if (!task) return;
      try {
        const step = task.reading.next();
        if (step.done) this.#enqueue(task, step.value);
        else this.#untokenized.push(task);
      } catch (error) {
        this.#fail(task, error);
      }
    } while (performance.now() < until);
  }

  /** Sorted by length, so that neighbors in the queue fit into one batch. */
  #enqueue(task: EmbedTask, inputs: readonly Tokenized[]): void {
    const added = inputs
      .map((input, index) => ({ ...input, task, index }))
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
      for (const { task } of batch) this.#fail(task, error);
    }
  }

  #deliver(batch: readonly QueuedInput[], vectors: Float32Array): void {
    const { dimensions } = this.#model;
    if (vectors.length !== batch.length * dimensions) {
      throw new GatewayError(
        "upstream_invalid",
        "The model returned vectors of an unexpected length.",
      );
    }
    for (const [task, rows] of Map.groupBy(batch.keys(), (row) => batch[row]!.task)) {
      if (!this.#tasks.has(task.id)) continue;
      const packed = new Float32Array(rows.length * dimensions);
      rows.forEach((row, i) => {
        packed.set(vectors.subarray(row * dimensions, (row + 1) * dimensions), i * dimensions);
      });
      const inputs = rows.map((row) => batch[row]!);
      task.left -= inputs.length;
      const tokens = inputs.map(({ ids }) => ids.length);
      const indexes = inputs.map(({ index }) => index);
      this.#responses.send(task.id, { indexes, vectors: packed, tokens }, task.left === 0);
      if (task.left === 0) this.#tasks.delete(task.id);
    }
  }

  #fail(task: EmbedTask, error: unknown): void {
    if (!this.#tasks.has(task.id)) return;
    this.cancel(task.id);
    this.#responses.fail(task.id, error);
  }
}

interface BatchLimits {
  readonly inputs: number;
  /** Maximum tokens of a batch, padding included. */
  readonly tokens: number;
}

// Measured on one core with MiniLM: above this many tokens a batch exceeds the CPU cache and gets slower again.
const batchLimits: BatchLimits = { inputs: 32, tokens: 512 };

/** How many queued inputs are considered for a batch. */
const lookahead = 256;

/**
 * Plans the next batch: which queued inputs run together. The first queued input is always taken, together with the
 * following inputs that are nearest to it in length. The shortest is at least half as long as the longest, so that
 * little time is spent on padding.
 */
export function planBatch(lengths: readonly number[], limits: BatchLimits): number[] {
  const leader = lengths[0];
  if (leader === undefined) return [];
  const near = lengths
    .slice(1, lookahead)
    .map((length, i) => ({ index: i + 1, length, distance: Math.abs(length - leader) }))
    .sort((a, b) => a.distance - b.distance);
  const chosen = [0];
  let [shortest, longest] = [leader, leader];
  for (const { index, length } of near) {
    if (chosen.length >= limits.inputs) break;
    const low = Math.min(shortest, length);
    const high = Math.max(longest, length);
    if (low * 2 < high || high * (chosen.length + 1) > limits.tokens) continue;
    chosen.push(index);
    [shortest, longest] = [low, high];
  }
  return chosen;
}

/** Tokenizes the texts of a request, one per step, and rejects inputs that the model does not support. */
function* readTexts(
  { dimensions, maxTokens, tokenizer }: LoadedModel,
  request: EmbedRequest,
): Generator<void, readonly Tokenized[]> {
  if (request.dimensions !== undefined && request.dimensions !== dimensions) {
    const message = `This model does not support specifying dimensions: its vectors always have ${dimensions} dimensions.`;
    throw new GatewayError("dimensions_unsupported", message, { param: "dimensions" });
  }
  const inputs: Tokenized[] = [];
  for (const [at, text] of request.texts.entries()) {
    const cut = text.length > maxCharacters;
    const ids = tokenizer.encode(cut ? text.slice(0, maxCharacters) : text);
    if (!request.truncate && (cut || ids.length > maxTokens)) {
      const details = request.texts.length > 1 ? { param: `input[${at}]` } : {};
      throw new GatewayError(
        "context_length_exceeded",
        tooLong(ids.length, maxTokens, cut),
        details,
      );
    }
    inputs.push({ text, ids: tokenizer.cut(ids, maxTokens) });
    yield;
  }
  return inputs;
}

/** OpenAI's wording, which some clients match, and how to fix it. */
function tooLong(tokens: number, maxTokens: number, cut: boolean): string {
  const advice = 'Please reduce your prompt; or send "truncate": true to have it cut.';
  const limit = `This model's maximum context length is ${maxTokens} tokens, however you requested`;
  const tokenCount = cut ? `more than ${tokens}` : tokens;
  return tokens > maxTokens
    ? `${limit} ${tokenCount} tokens (${tokenCount} in your prompt; 0 for the completion). ${advice}`
    : `${limit} an input of more than ${maxCharacters} characters. ${advice}`;
}
