/**
 * Orphaned responses: stored responses whose client disconnected before it received them, indexed by the fingerprint of
 * the request. A retry of the same request claims one of them, and each is claimed once. The index is in memory only;
 * after a restart a response is still found by its request ID.
 */

interface Orphan {
  readonly owner: string;
  /** A hash of the owner and the fingerprint of the request. */
  readonly fingerprintName: string;
}

export class OrphanedResponses {
  /** By the store name of the request, oldest first. */
  readonly #orphans = new Map<string, Orphan>();
  readonly #byFingerprint = new Map<string, Set<string>>();
  /** The number of orphans per owner. A request of an owner without orphans needs no fingerprint. */
  readonly #countByOwner = new Map<string, number>();
  readonly #max: number;

  /** Above `max`, the oldest are evicted: most have expired by then, or are fetched by their request ID. */
  constructor(max = 4096) {
    this.#max = max;
  }

  has(owner: string): boolean {
    return this.#countByOwner.has(owner);
  }

  add(name: string, { owner, fingerprintName }: Orphan): void {
    if (this.#orphans.has(name)) return;
    this.#orphans.set(name, { owner, fingerprintName });
    const names = this.#byFingerprint.get(fingerprintName);
    if (names) names.add(name);
    else this.#byFingerprint.set(fingerprintName, new Set([name]));
    this.#countByOwner.set(owner, (this.#countByOwner.get(owner) ?? 0) + 1);
    const [oldest] = this.#orphans.keys();
    if (oldest !== undefined && this.#orphans.size > this.#max) this.remove(oldest);
  }

  /** The oldest request with this fingerprint. */
  first(fingerprintName: string): string | undefined {
    const [name] = this.#byFingerprint.get(fingerprintName) ?? [];
    return name;
  }

  /** The response was delivered to a client, or will never exist. */
  remove(name: string): void {
    const orphan = this.#orphans.get(name);
    if (!orphan) return;
    const { owner, fingerprintName } = orphan;
    this.#orphans.delete(name);
    const names = this.#byFingerprint.get(fingerprintName);
    names?.delete(name);
    if (names?.size === 0) this.#byFingerprint.delete(fingerprintName);
    const left = (this.#countByOwner.get(owner) ?? 1) - 1;
    if (left > 0) this.#countByOwner.set(owner, left);
    else this.#countByOwner.delete(owner);
  }
}
