/**
 * Answers whose caller left before they came, by the question they answer: whoever asks the same again gets one of them,
 * each of them once. In memory only; by the id of its call an answer is found after a restart too.
 */

interface Orphan {
  readonly owner: string;
  readonly question: string;
}

export class OrphanedResponses {
  /** By the name of the call, oldest first. */
  readonly #lost = new Map<string, Orphan>();
  readonly #byQuestion = new Map<string, Set<string>>();
  /** Only for callers who have lost one is it worth to look. */
  readonly #owners = new Map<string, number>();
  readonly #most: number;

  /** Of more than so many the oldest are forgotten here: most have expired by then, or are fetched by their id. */
  constructor(most = 4096) {
    this.#most = most;
  }

  has(owner: string): boolean {
    return this.#owners.has(owner);
  }

  add(call: string, { owner, question }: Orphan): void {
    if (this.#lost.has(call)) return;
    this.#lost.set(call, { owner, question });
    const calls = this.#byQuestion.get(question);
    if (calls) calls.add(call);
    else this.#byQuestion.set(question, new Set([call]));
    this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + 1);
    const [oldest] = this.#lost.keys();
    if (oldest !== undefined && this.#lost.size > this.#most) this.remove(oldest);
  }

  /** The call that was begun first. */
  first(question: string): string | undefined {
    const [call] = this.#byQuestion.get(question) ?? [];
    return call;
  }

  /** It has reached someone, or will never come. */
  remove(call: string): void {
    const lost = this.#lost.get(call);
    if (!lost) return;
    const { owner, question } = lost;
    this.#lost.delete(call);
    const calls = this.#byQuestion.get(question);
    calls?.delete(call);
    if (calls?.size === 0) this.#byQuestion.delete(question);
    const left = (this.#owners.get(owner) ?? 1) - 1;
    if (left > 0) this.#owners.set(owner, left);
    else this.#owners.delete(owner);
  }
}
