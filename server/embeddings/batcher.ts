/** Before one target: calls go through while there is a free lane, else they wait for one, and leave together. */

import type { Route } from "../request/caller.ts";
import { loadOf, type RequestLoad } from "../request/request-load.ts";
import type { StageRequest } from "../request/stage.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../upstream/contract.ts";
import { BatchMember, type EmbeddingsSend, sendBatch } from "./batch-request.ts";

export interface BatcherOptions {
  readonly next: EmbeddingsSend;
  /** The most that may travel together. */
  readonly limits: RequestLoad;
  /** As many calls under way, and the target counts as busy. */
  readonly concurrency: number;
  readonly maxWaitMs: number;
  /** The most calls that wait at the same time. */
  readonly maxQueued: number;
  /** A target that answers quicker than this is never busy: waiting for others would cost more than it saves. */
  readonly fastMs: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** Calls that are alike and wait together. */
interface Group {
  readonly key: string;
  readonly route: Route;
  readonly members: Set<BatchMember>;
  readonly timer: ReturnType<typeof setTimeout | typeof setImmediate>;
  items: number;
  tokens: number;
  bytes: number;
}

export class Batcher {
  readonly #options: BatcherOptions;
  /** The longest wait first. */
  readonly #groups = new Map<string, Group>();
  #underWay = 0;
  #waiting = 0;
  /** How long its answers take, the latest counting most. Infinity until there was one. */
  #usualMs = Infinity;

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  /** Nothing is under way: whoever comes now goes at once. */
  get isIdle(): boolean {
    return this.#underWay === 0;
  }

  get isBusy(): boolean {
    return this.#underWay >= this.#options.concurrency && this.#usualMs >= this.#options.fastMs;
  }

  /** At once, and as it is. */
  readonly send: EmbeddingsSend = (call) => {
    const { next, clock } = this.#options;
    const began = clock();
    const reply = next(call);
    this.#underWay++;
    // Both ways lead on, so this can never be an unhandled rejection; the reply itself is the caller's.
    reply.then(() => {
      const took = clock() - began;
      this.#usualMs = this.#usualMs === Infinity ? took : this.#usualMs * 0.9 + took * 0.1;
      this.#free();
    }, this.#free);
    return reply;
  };

  /** With others, within the limits, as soon as a lane is free or the wait has been long enough. */
  enqueue(call: StageRequest<EmbeddingsQuery>): Promise<EmbeddingsResponse> {
    const { query, route, signal } = call;
    if (signal.aborted) return Promise.reject(signal.reason);
    if (this.#waiting >= this.#options.maxQueued) return this.send(call);
    const load = loadOf(query.input);
    // It fills a batch by itself.
    if (!this.#hasRoom(load, smallest)) return this.send(call);
    const key = likeness(query);
    let group = this.#groups.get(key);
    if (group && group.route !== route) return this.send(call);
    // It cannot grow any more: waiting would gain it nothing.
    if (group && !this.#hasRoom(group, load)) {
      this.#leave(group);
      group = undefined;
    }
    return this.#add(call, load, group ?? this.#open(key, route));
  }

  #hasRoom({ items, tokens, bytes }: RequestLoad, more: RequestLoad): boolean {
    const { limits } = this.#options;
    return (
      items + more.items <= limits.items &&
      tokens + more.tokens <= limits.tokens &&
      bytes + more.bytes <= limits.bytes
    );
  }

  #open(key: string, route: Route): Group {
    const leave = () => this.#leave(group);
    // Those that come in the same turn of the event loop go together: that costs nobody any time.
    const timer = this.isBusy ? setTimeout(leave, this.#options.maxWaitMs) : setImmediate(leave);
    const group: Group = { key, route, members: new Set(), timer, items: 0, tokens: 0, bytes: 0 };
    this.#groups.set(key, group);
    return group;
  }

  #add(
    call: StageRequest<EmbeddingsQuery>,
    load: RequestLoad,
    group: Group,
  ): Promise<EmbeddingsResponse> {
    const member = new BatchMember(call, load);
    member.onAbort = () => this.#drop(member, group);
    group.members.add(member);
    this.#waiting++;
    group.items += load.items;
    group.tokens += load.tokens;
    group.bytes += load.bytes;
    if (!this.#hasRoom(group, smallest)) this.#leave(group);
    return member.response;
  }

  #drop(member: BatchMember, group: Group): void {
    group.members.delete(member);
    this.#waiting--;
    group.items -= member.load.items;
    group.tokens -= member.load.tokens;
    group.bytes -= member.load.bytes;
    if (group.members.size === 0) this.#close(group);
  }

  #close({ key, timer }: Group): void {
    clearTimeout(timer as never);
    clearImmediate(timer as never);
    this.#groups.delete(key);
  }

  #leave(group: Group): void {
    this.#close(group);
    this.#waiting -= group.members.size;
    void sendBatch([...group.members], this.send, this.#options.concurrency);
  }

  readonly #free = (): void => {
    this.#underWay--;
    for (const group of this.#groups.values()) {
      if (this.isBusy) return;
      this.#leave(group);
    }
  };
}

const smallest: RequestLoad = { items: 1, tokens: 1, bytes: 1 };

/** Equal for calls that differ in nothing but their inputs and the encoding, which is made for each caller. */
function likeness({ input, dimensions, taskType: purpose, user }: EmbeddingsQuery): string {
  if (dimensions === undefined && purpose === undefined && user === undefined) return input.kind;
  return JSON.stringify([input.kind, dimensions, purpose?.field, purpose?.given, user]);
}
