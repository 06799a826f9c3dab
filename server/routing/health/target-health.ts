/** All that is known of one target from the calls it was given: whether it serves, how quickly, and when to ask again. */
import type { Target } from "../../upstream/contract.ts";
import { Concurrency, least } from "./adaptive-concurrency.ts";
import { Breaker } from "./circuit-breaker.ts";
import type { Outcome } from "./classify-outcome.ts";
import { CoolDown } from "./cool-down.ts";
import { Trial } from "./half-open-probe.ts";
import { Pace, sizes } from "./latency-stats.ts";
import { OutcomeWindow } from "./outcome-window.ts";
import { isWorse } from "./outlier-ejection.ts";
import { Sampling } from "./sampling.ts";

/** What becomes of targets, for logs and events. */
export interface TargetNews {
  readonly what: "ejected" | "recovered";
  readonly target: Target;
  /** For a person. */
  readonly why: string;
}

export interface HealthOptions {
  readonly random: () => number;
  readonly tell: (news: TargetNews) => void;
}

/**
 * `in`: it serves. `probe`: it did not, and one call may look whether it does again. `doubtful`: only if nobody else
 * can. `out`: not at all, as yet.
 */
export type Standing = "in" | "probe" | "doubtful" | "out";

/** So many calls under way and not one heard of for so long: better not another. */
const crowd = 5;
const silenceMs = 1500;

const noPeers: readonly TargetHealth[] = [];

export class TargetHealth {
  /** As the newest configuration has it. */
  target: Target;
  /** Since the gateway started. */
  readonly counts = { answered: 0, failed: 0, limited: 0, refused: 0 };
  readonly breaker: Breaker;
  readonly coolDown = new CoolDown();
  readonly pace = new Pace();
  readonly sampling = new Sampling();
  readonly #window = new OutcomeWindow();
  readonly concurrency = new Concurrency();
  readonly #tell: HealthOptions["tell"];
  /** Of one that draws, while it is out. */
  #trial: Trial | undefined;
  /** How often it has said anything that is no failure, measured or not. */
  signs = 0;
  /** When it last said anything, or was first asked after it had nothing to do. */
  #heardAt = 0;
  #answeredAt = Number.NEGATIVE_INFINITY;
  /** Calls that were waited for in vain since it last answered. */
  #silences = 0;
  /** It is out because it said nothing: then any answer shows that it is back. */
  #mute = false;

  constructor(target: Target, { random, tell }: HealthOptions) {
    this.target = target;
    this.breaker = new Breaker(random);
    this.#tell = tell;
  }

  get inFlight(): number {
    return this.concurrency.gate.inside;
  }

  set inFlight(count: number) {
    this.concurrency.gate.inside = count;
  }

  /** The usual case, which needs no clock. */
  get isWell(): boolean {
    return this.coolDown.isOver && !this.breaker.open;
  }

  /** Of a model's only target: it is well, and this call need not be measured. */
  get mayGoUnmeasured(): boolean {
    return !this.sampling.due && this.isWell && !this.concurrency.isWalled;
  }

  /**
   * A call has had all its time there and waits still. So many for so long, and the next need not wait as well; unless
   * others were answered since (`signs`: as of when it was asked): then it has much to do, and does it.
   */
  silent(now: number, signs: number): void {
    this.sampling.beWary();
    if (this.signs > signs || ++this.#silences < crowd || this.breaker.open) return;
    this.#mute = true;
    this.breaker.eject(now, `${this.#silences} calls wait for an answer`, false);
    this.#news("ejected", this.breaker.why);
  }

  /** Why it is not asked, for a person. */
  get why(): string {
    if (this.breaker.open) return this.breaker.why;
    return this.coolDown.isOver ? "it has not answered any of its calls yet" : this.coolDown.why;
  }

  /** `alone`: the model has no other target. Then it is tried every second, however long it has been out. */
  standing(now: number, alone: boolean): Standing {
    if (this.isWell) return !alone && this.#isSilent(now) ? "doubtful" : "in";
    const left = this.coolDown.leftMs(now) > 0;
    if (left && this.coolDown.told) return "out";
    // A guess how long a limit lasts says nothing of one that is broken.
    if (!this.breaker.open) return left ? "doubtful" : "in";
    if (this.breaker.waitMs(now, alone) === 0) return "probe";
    return this.breaker.partial ? "doubtful" : "out";
  }

  /** Of one that has to be paid for each try, and is due for one: may it be this order? */
  mayBeTried(now: number): boolean {
    return this.#trial?.mayTry(now) === true;
  }

  /** An order goes elsewhere although this one is due for a try. `look`: a question that costs nothing. */
  passOver(now: number, look: (target: Target) => Promise<boolean>, clock: () => number): void {
    this.#trial ??= new Trial(now);
    const trial = this.#trial;
    if (!trial.pass()) return;
    const answered = (isThere: boolean): void => {
      trial.answered(isThere);
      if (!isThere && trial === this.#trial) this.breaker.stillDown(clock());
    };
    look(this.target).then(answered, () => answered(false));
  }

  /** Milliseconds until it may be asked, where nobody else can serve. */
  waitMs(now: number): number {
    const cooling = this.coolDown.told ? this.coolDown.leftMs(now) : 0;
    return this.breaker.open ? Math.max(cooling, this.breaker.waitMs(now, true)) : cooling;
  }

  /** Out because of its rate limit, and not because it fails. */
  isLimited(now: number): boolean {
    const { told, isOfRate } = this.coolDown;
    return told && isOfRate && this.coolDown.leftMs(now) > 0 && !this.breaker.open;
  }

  /** It has as much as it can take, by its own words: another call waits. One that is out is only tried, and not kept waiting. */
  isFull(now: number): boolean {
    if (this.breaker.open || !this.concurrency.isWalled) return false;
    // What it does not answer is no measure of what it can take.
    if (this.#isSilent(now)) this.concurrency.open();
    return this.concurrency.isFull(now);
  }

  /** It answered one that was measured, be it another's. */
  hasAnsweredSince(moment: number): boolean {
    return this.#answeredAt > moment;
  }

  /** Of how many calls `failing` is a share. */
  measured(now: number): number {
    return this.#window.count(now);
  }

  failing(now: number): number {
    return this.#window.failing(now);
  }

  /** A call goes there. True: it will show whether the target is back. */
  begin(now: number): boolean {
    if (this.inFlight === 0) this.#heardAt = now;
    this.inFlight++;
    if (!this.breaker.open) return false;
    this.breaker.probe(now);
    return true;
  }

  /** `peers`: all targets of the model, with this one. */
  succeeded(
    now: number,
    tookMs: number,
    size: number,
    probe: boolean,
    peers: readonly TargetHealth[],
  ): void {
    this.concurrency.kept();
    this.counts.answered++;
    this.signs++;
    this.inFlight--;
    this.#heardAt = now;
    this.#answeredAt = now;
    this.#silences = 0;
    this.sampling.beAtEase();
    this.#window.add(now, true);
    this.pace.add(now, tookMs, size);
    this.#served(now, probe || this.#mute, peers);
  }

  /** The same of one that was well, where there is nothing to compare it with and so nothing to measure. */
  succeededAlone(): void {
    this.inFlight--;
    this.counts.answered++;
    this.signs++;
    if (!this.breaker.open) this.#served(0, false, noPeers);
  }

  /**
   * The same of one that got no answer. Those that got one are not in the window, so it is not either; nor is it known how
   * long a caller had waited who left. But the next calls are measured, until one is answered.
   */
  endedAlone(now: number, outcome: Outcome, peers: readonly TargetHealth[]): void {
    this.#end(now, outcome, false, peers);
    if (outcome.kind === "failed" || outcome.kind === "nothing") this.sampling.beWary();
  }

  /** Without an answer. */
  ended(now: number, outcome: Outcome, probe: boolean, peers: readonly TargetHealth[]): void {
    const { kind } = outcome;
    if (kind === "alive" || kind === "failed") this.#window.add(now, kind === "alive");
    this.#end(now, outcome, probe, peers);
  }

  #end(now: number, outcome: Outcome, probe: boolean, peers: readonly TargetHealth[]): void {
    this.inFlight--;
    if (isHeardOf(outcome)) this.#heardAt = now;
    if (outcome.kind !== "failed" && outcome.kind !== "alive") this.breaker.released(now, probe);
    switch (outcome.kind) {
      case "nothing":
        return;
      case "alive":
        this.signs++;
        this.#served(now, probe, peers);
        return;
      case "limited":
        this.counts.limited++;
        this.concurrency.tooMuch(now);
        this.coolDown.limited(now, outcome.waitMs);
        return;
      case "refused":
        this.counts.refused++;
        if (!this.coolDown.isRefused) this.#news("ejected", outcome.why);
        this.coolDown.refused(now, outcome.why);
        return;
      case "failed":
        this.counts.failed++;
        if (outcome.why === "upstream_overloaded") this.concurrency.tooMuch(now);
        else if (outcome.busy) this.concurrency.tooSlow(now);
        if (outcome.waitMs !== undefined)
          this.coolDown.begin(now, outcome.waitMs, true, outcome.why);
        // Others are under way to it: it has too much to do, which is no sign that it is broken.
        if (outcome.why === "upstream_overloaded" && this.inFlight >= least && !this.breaker.open)
          return;
        if (probe) this.#trial?.failed(now);
        // One that answers, and has no substitute, may do better with the next input.
        if (outcome.why === "upstream_invalid" && peers.length === 1) {
          this.breaker.released(now, probe);
        } else if (this.breaker.failed(now, probe, outcome.why)) {
          this.#news("ejected", this.breaker.why);
        } else if (!this.breaker.open) this.#compare(now, peers);
    }
  }

  #isSilent(now: number): boolean {
    const silent = this.inFlight < crowd ? 0 : now - this.#heardAt;
    if (silent < silenceMs) return false;
    // Where a single call may take a minute, so may the first of five.
    for (let size = 0; size < sizes; size++)
      if (silent < 2 * (this.pace.slowMs(size) ?? 0)) return false;
    return true;
  }

  #served(now: number, probe: boolean, peers: readonly TargetHealth[]): void {
    const wasRefused = this.coolDown.isRefused;
    // Where nobody else can serve, the first sign of life is enough.
    const lone =
      probe && !peers.some((peer) => peer !== this && peer.standing(now, false) === "in");
    const back = this.breaker.succeeded(now, probe, lone);
    this.coolDown.served();
    if (back) {
      this.#mute = false;
      this.#trial = undefined;
      this.#window.clear();
      this.concurrency.beginAnew(now);
    }
    if ((back || wasRefused) && !this.breaker.open) this.#news("recovered", "it answered");
  }

  #compare(now: number, peers: readonly TargetHealth[]): void {
    if (!isWorse(this, peers, now)) return;
    this.breaker.eject(now, `${Math.round(this.failing(now) * 100)} % of its calls fail`, true);
    this.#news("ejected", this.breaker.why);
  }

  #news(what: TargetNews["what"], why: string): void {
    this.#tell({ what, target: this.target, why });
  }
}

/** It said something, be it no. */
const isHeardOf = (outcome: Outcome): boolean =>
  outcome.kind !== "nothing" && (outcome.kind !== "failed" || outcome.why !== "upstream_timeout");
