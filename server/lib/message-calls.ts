/**
 * Calls and replies over a channel of messages between two processes, such as a parent and its child. Each end may call
 * the other.
 */

import { withTimeout } from "./timers.ts";

export type CallMessage =
  | { readonly kind: "call"; readonly id: number; readonly name: string; readonly input: unknown }
  | { readonly kind: "reply"; readonly id: number; readonly value: unknown };

interface MessageCallsOptions {
  readonly send: (message: CallMessage) => void;
  /** Serves the calls of the other end. */
  readonly serve: (name: string, input: unknown) => unknown;
  /** The longest time until a reply. Longer than the timeouts of the calls that the other end makes to produce it. */
  readonly timeoutMs: number;
}

export class MessageCalls {
  readonly #options: MessageCallsOptions;
  readonly #pending = new Map<number, (value: unknown) => void>();
  #calls = 0;

  constructor(options: MessageCallsOptions) {
    this.#options = options;
  }

  /** Resolves with undefined if the other end does not reply in time, or ends. */
  async call(name: string, input?: unknown): Promise<unknown> {
    const { send, timeoutMs } = this.#options;
    const id = ++this.#calls;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#pending.set(id, resolve);
    send({ kind: "call", id, name, input });
    try {
      return await withTimeout(promise, timeoutMs);
    } finally {
      this.#pending.delete(id);
    }
  }

  async receive(message: CallMessage): Promise<void> {
    if (message.kind === "reply") return this.#pending.get(message.id)?.(message.value);
    const value = await this.#options.serve(message.name, message.input);
    this.#options.send({ kind: "reply", id: message.id, value });
  }

  /** The other end has ended. */
  close(): void {
    for (const resolve of this.#pending.values()) resolve(undefined);
  }
}
