/**
 * Half-open probe of an image target while another target serves. Clients pay for the images, so a free health check
 * comes first; only after it passes may one request be the probe, and after a failed probe at most one request in
 * twenty.
 */

/** Requests that go to other targets between two probes. */
const requestsBetweenProbes = 19;
/** After this long a probe is allowed without a passed health check: some upstreams have none that works. */
const maxUncheckedMs = 300_000;

export class ImageProbe {
  /** The free health check passed. */
  #checkPassed = false;
  #checking = false;
  #hasProbed = false;
  #skipped = 0;
  #since: number;

  constructor(now: number) {
    this.#since = now;
  }

  /** A request goes to another target. True: the health check is due. */
  skip(): boolean {
    this.#skipped++;
    if (this.#checkPassed || this.#checking) return false;
    this.#checking = true;
    return true;
  }

  onChecked(isUp: boolean): void {
    this.#checking = false;
    this.#checkPassed = isUp;
  }

  /** Whether one request may be sent as the probe. */
  mayProbe(now: number): boolean {
    if (!this.#checkPassed && now - this.#since < maxUncheckedMs) return false;
    return !this.#hasProbed || this.#skipped >= requestsBetweenProbes;
  }

  /** A request is sent as the probe. */
  start(now: number): void {
    this.#hasProbed = true;
    this.#checkPassed = false;
    this.#skipped = 0;
    this.#since = now;
  }
}
