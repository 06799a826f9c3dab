/** The image requests in flight that an upstream bills: the gateway finishes them before it stops. */
import { type Deadline, shuttingDownError } from "./deadline.ts";

/** The deadlines of image requests that were admitted, until their responses are delivered or stored. */
export class AdmittedImages {
  readonly #deadlines = new Set<Deadline>();
  #isClosed = false;

  get count(): number {
    return this.#deadlines.size;
  }

  /** The milliseconds until the last request timeout. */
  get leftMs(): number {
    return Math.max(0, ...[...this.#deadlines].map(({ leftMs }) => leftMs));
  }

  /** Throws GatewayError once the gateway admits no more images. */
  add(deadline: Deadline): void {
    if (this.#isClosed) throw shuttingDownError({ notSent: true });
    this.#deadlines.add(deadline);
  }

  delete(deadline: Deadline): void {
    this.#deadlines.delete(deadline);
  }

  /** From now on no image request is admitted, and so none is sent to an upstream that was not sent yet. */
  close(): void {
    this.#isClosed = true;
  }
}
