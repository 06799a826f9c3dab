/**
 * The slots of a process for one kind of work on jobs, such as the image lines of batches. Projects take turns, and
 * within a project its API keys. A slow line holds its slot for minutes, so some slots stay free (`KeyShares`): a key
 * has at most half of them, its project two thirds, and a project that comes later finds a free one. A project without
 * a slot may take the last one, and so may a key, within the share of its project.
 */
import { KeyShares } from "../lib/key-shares.ts";
import type { JobOwner } from "../storage/sql/stored-job.ts";

/** A project may have this many times the slots that then stay free. */
const projectFactor = 2;

export class JobSlots {
  readonly #projects: KeyShares;
  readonly #keys: KeyShares;
  readonly #projectTurns = new Turns();
  readonly #keyTurns = new Turns();

  constructor(max: number) {
    this.#projects = new KeyShares(max);
    this.#keys = new KeyShares(max);
  }

  get hasFree(): boolean {
    return this.#projects.free > 0;
  }

  /** The jobs of these projects and keys wait for a slot, and no others. */
  setWaiting(waiting: readonly JobOwner[]): void {
    this.#projectTurns.retain(new Set(waiting.map(({ owner }) => owner)));
    this.#keyTurns.retain(new Set(waiting.map(({ keyId }) => keyId)));
  }

  /** The waiting key and project that get the next slot. Undefined if the slot stays free. */
  next(waiting: Iterable<JobOwner>): JobOwner | undefined {
    let first: JobOwner | undefined;
    for (const each of waiting) {
      if (this.#mayTake(each) && (!first || this.#isBefore(each, first))) first = each;
    }
    return first;
  }

  take({ owner, keyId }: JobOwner): void {
    this.#projects.take(owner, 1);
    this.#keys.take(keyId, 1);
    this.#projectTurns.end(owner);
    this.#keyTurns.end(keyId);
  }

  release({ owner, keyId }: JobOwner): void {
    this.#projects.release(owner, 1);
    this.#keys.release(keyId, 1);
  }

  #mayTake({ owner, keyId }: JobOwner): boolean {
    if (!this.hasFree) return false;
    if (this.#projects.heldBy(owner) === 0) return true;
    if (!this.#projects.mayTake(owner, 1, projectFactor)) return false;
    return this.#keys.heldBy(keyId) === 0 || this.#keys.mayTake(keyId, 1);
  }

  #isBefore(one: JobOwner, other: JobOwner): boolean {
    if (one.owner !== other.owner)
      return this.#projectTurns.of(one.owner) < this.#projectTurns.of(other.owner);
    return this.#keyTurns.of(one.keyId) < this.#keyTurns.of(other.keyId);
  }
}

/** Round robin: the next turn of a name that had one, or that is new, is the last one. */
class Turns {
  readonly #turns = new Map<string, number>();
  #last = 0;

  /** Forgets the other names. */
  retain(names: ReadonlySet<string>): void {
    for (const name of this.#turns.keys()) if (!names.has(name)) this.#turns.delete(name);
    for (const name of names) if (!this.#turns.has(name)) this.end(name);
  }

  of(name: string): number {
    return this.#turns.get(name) ?? Number.POSITIVE_INFINITY;
  }

  /** The turn of the name is over. */
  end(name: string): void {
    this.#turns.set(name, ++this.#last);
  }
}
