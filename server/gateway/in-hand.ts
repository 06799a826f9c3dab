/**
 * How many calls are in hand, and who has to go when they are too many. The least that is lost by it goes first: a call that
 * waits and for which nothing was done yet; then a new one, unless its answer is known and costs next to nothing. What has begun
 * is brought to its end.
 */
import { GatewayError } from "../std/gateway-error.ts";

export interface InHandOptions {
  /** The most of all kinds, and of image calls. */
  readonly all: number;
  readonly image: number;
  /** Sends away one that waits, if there is one. */
  readonly shed: () => boolean;
}

type Kind = "embedding" | "image";

/** Beyond the most, one in eight more may look whether their answer is known. */
const spareShare = 1 / 8;
/** Reading more than this is work already. */
const smallBytes = 64 * 1024;

export class InHand {
  readonly #options: InHandOptions;
  readonly #counts = { embedding: 0, image: 0 };

  constructor(options: InHandOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#counts.embedding + this.#counts.image;
  }

  begin(kind: Kind): void {
    this.#counts[kind]++;
  }

  end(kind: Kind): void {
    this.#counts[kind]--;
  }

  /** Of a call that has begun just now. True: it may be answered from memory only. */
  admit(kind: Kind, headers: Headers): boolean {
    const { all, image, shed } = this.#options;
    // Pictures take long: without a limit of their own they would leave no place for vectors.
    if (kind === "image" && this.#counts.image > image) throw tooMuch();
    if (this.count <= all || shed()) return false;
    const spare = kind === "embedding" && this.count <= all + Math.ceil(all * spareShare);
    if (spare && isSmall(headers)) return true;
    throw tooMuch();
  }
}

function isSmall(headers: Headers): boolean {
  const announced = headers.get("content-length");
  return announced !== null && Number(announced) <= smallBytes;
}

export const tooMuch = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "The gateway is overloaded. Please retry your request after a brief delay.",
    { retryAfterMs: 1000 },
  );
