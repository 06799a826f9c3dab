/**
 * How many calls are in hand, and who has to go when they are too many. The least that is lost by it goes first: a call that
 * waits and for which nothing was done yet; then a new one, unless its key has less than its share, or its answer is known and costs
 * next to nothing. What has begun is brought to its end.
 */

import { GatewayError } from "../lib/gateway-error.ts";
import type { Fields } from "../request/http-types.ts";
import { Places } from "./concurrency-limiter.ts";

export interface InHandOptions {
  /** The most of all kinds, and of image calls. */
  readonly all: number;
  readonly image: number;
  /** Sends away one that waits, if there is one, and its key may lose it. */
  readonly shed: (mayLose: (key: string) => boolean) => boolean;
}

type Kind = "embedding" | "image";

/** How a call is in hand: counted for its key or, while there is plenty of room, not; or only to look whether its answer is known. */
export type Standing = "plain" | "noted" | "looking";

/** Beyond the most, one in eight more may look whether their answer is known. */
const spareShare = 1 / 8;
/** Reading more than this is work already. */
const smallBytes = 64 * 1024;

export class InHand {
  readonly #shed: InHandOptions["shed"];
  readonly #all: Places;
  readonly #image: Places;
  readonly #mostLooking: number;
  #looking = 0;

  constructor({ all, image, shed }: InHandOptions) {
    this.#shed = shed;
    this.#all = new Places(all);
    this.#image = new Places(image);
    this.#mostLooking = Math.ceil(all * spareShare);
  }

  get count(): number {
    return this.#all.taken;
  }

  begin(kind: Kind): void {
    this.#all.take();
    if (kind === "image") this.#image.take();
  }

  end(kind: Kind, standing: Standing, key: string | undefined): void {
    this.#all.leave();
    if (kind === "image") this.#image.leave();
    if (standing === "looking") this.#looking--;
    if (standing !== "noted" || key === undefined) return;
    this.#all.forget(key);
    if (kind === "image") this.#image.forget(key);
  }

  /** Of a call that has begun just now, once it is known whose it is. */
  admit(kind: Kind, headers: Fields, key: string): Standing {
    if (!this.#all.isFilling && (kind === "embedding" || !this.#image.isFilling)) return "plain";
    // Pictures take long: without a limit of their own they would leave no place for vectors.
    if (kind === "image" && !(this.#image.hasRoom() || this.#image.hasReserveFor(key)))
      throw tooMuch();
    if (this.#hasRoom(key)) {
      this.#all.note(key);
      if (kind === "image") this.#image.note(key);
      return "noted";
    }
    if (kind === "image" || this.#looking >= this.#mostLooking || !isSmall(headers))
      throw tooMuch();
    this.#looking++;
    return "looking";
  }

  #hasRoom(key: string): boolean {
    const all = this.#all;
    if (all.hasRoom(this.#looking)) return true;
    // Whoever has less than others is not the one to make way for them.
    const shed = this.#shed((waiting) => !all.hasLessThanShare(waiting, key));
    return shed || all.hasReserveFor(key, this.#looking);
  }
}

function isSmall(headers: Fields): boolean {
  const announced = headers.get("content-length");
  return announced !== null && Number(announced) <= smallBytes;
}

export const tooMuch = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "The gateway is overloaded. Please retry your request after a brief delay.",
    { retryAfterMs: 1000, unsent: true },
  );
