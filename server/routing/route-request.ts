/**
 * Which door, and which next: asks one of a model's targets, and another, or the same again, where the fault says that
 * this may help and the model has a try left to spend.
 */

import type { Gate } from "../limits/concurrency-gate.ts";
import type { Call, Stage } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";
import { createAttempt } from "./attempt.ts";
import { waited } from "./backoff.ts";
import { ableOf, isAnyWell, others, unable } from "./candidates.ts";
import { staleProbeMs } from "./health/circuit-breaker.ts";
import { isReplaced, type Runner, race } from "./hedge.ts";
import type { Question, Seat } from "./policies/policy.ts";
import { faultOf, isUnsent, mayHaveCost, mayTryElsewhere, pauseMs } from "./retry-policy.ts";
import { note, notePassedOver } from "./routing-steps.ts";
import { chooseAgain } from "./select-retry-target.ts";
import { type Choosing, choose, chooseWell, isBusy, nobody, type Room } from "./select-target.ts";
import type { Roster, Table } from "./target-registry.ts";

/** Where calls wait for targets that have as much as they can take. */
export interface Line<Q> {
  /** Until there is a place inside of the gate, and it is taken. Undefined: it is. Throws GatewayError if none comes free in time. */
  wait(call: Call<Q>, gate: Gate): Promise<void> | undefined;
  /** Somebody has left a gate that others wait for. */
  pass(): void;
}

export interface ScheduleOptions<Q, A> {
  readonly roster: Roster;
  /** Whether this target can be asked this. Absent: any can. */
  readonly able?: (call: Call<Q>, target: Target) => boolean;
  /** What size of call it is. Absent: it is never asked of two targets at the same time, nor called off for being slow. */
  readonly sizeOf?: (query: Q) => number;
  /** What a call costs at a target, where that is known. */
  readonly priceOf?: (call: Call<Q>, target: Target) => number | undefined;
  /** What the gateway's own limits say of a target. Absent: there are none. */
  readonly room?: Room;
  /** Absent: nobody waits, and targets are given more than they can take. */
  readonly line?: Line<Q>;
  /** The same answer, and word when the last of it has come: of one that comes piece by piece. */
  readonly untilEnd?: (answer: A, end: (failure?: unknown) => void) => A;
  /**
   * What is made is paid for. Then no call goes to a target that failed, to see, while another serves: this question,
   * which costs nothing, is asked first. True: it is there.
   */
  readonly isThere?: (target: Target) => Promise<boolean>;
}

type Chosen = { -readonly [name in keyof Choosing]: Choosing[name] } & {
  readonly question: { -readonly [name in keyof Question]: Question[name] };
  readonly table: Table;
  /** How often it was asked of targets that it had asked already. */
  repeats: number;
  /** Of a call that nobody answers: when whom it last asked. */
  askedAt?: Map<Seat, number>;
};

/** A target that was asked, and when. */
interface Asked<A> extends Runner<A> {
  readonly seat: Seat;
  readonly began: number;
  /** What had been heard of it by then. */
  readonly signs: number;
}

export const schedule =
  <Q, A>(options: ScheduleOptions<Q, A>): Stage<Q, A> =>
  (next) => {
    const { roster, able, sizeOf, priceOf, room, line, untilEnd, isThere } = options;
    const { clock, random, timers } = roster;
    const tries = isThere ? "looked-at" : "any";
    const { ask, askOnly } = createAttempt<Q, A>({
      ...{ next, clock, untilEnd, sizeOf },
      freed: () => line?.pass(),
      rescue: (call, table, error) => askAny(call, table, { error }),
    });

    const choosingFor = (call: Call<Q>, table: Table): Chosen => {
      const { policy } = table;
      const question = {
        now: clock(),
        random,
        size: sizeOf ? sizeOf(call.query) : 0,
        caller: call.route.policy === "sticky" ? Bun.hash.crc32(call.trip.caller?.id ?? "") : 0,
        price: ({ target }: Seat) => priceOf?.(call, target),
      };
      const open = call.order ? others(table.seats, call.order) : table.seats;
      const seats = able ? ableOf(open, (target) => able(call, target)) : open;
      const empty = { tried: undefined, passedOver: false, repeats: 0 };
      return { seats, policy, room, question, table, ...empty };
    };

    /** What is not the plain way is in the account of the call. */
    const account = ({ trip }: Call<Q>, chosen: Chosen, asked: Seat | undefined): void => {
      const { now } = chosen.question;
      notePassedOver(trip, chosen, asked, now);
      if (!isThere) return;
      for (const { health, tier } of chosen.seats) {
        if (asked && (health === asked.health || tier > asked.tier)) continue;
        if (health.standing(now, false) === "probe") health.passOver(now, isThere, clock);
      }
    };

    const runnerOf = (
      call: Call<Q>,
      { table, question }: Chosen,
      seat: Seat,
      repeated = false,
    ): Asked<A> => {
      const { health } = seat;
      const { now, size } = question;
      return {
        seat,
        began: now,
        signs: health.signs,
        // Whether it is back is told by its own answer, and not by that of a quicker one.
        lingerMs: health.breaker.open ? staleProbeMs : 0,
        usualMs: table.seats.length > 1 ? health.pace.usualMs(size) : undefined,
        patienceMs: () => health.pace.patienceMs(size, table.peers),
        run: (signal) => ask(call, seat, table, size, signal, repeated),
      };
    };

    /** Once for each call. */
    const noteSilence = (chosen: Chosen, running: readonly Asked<A>[]): Map<Seat, number> => {
      for (const { seat, signs } of running) seat.health.silent(chosen.question.now, signs);
      chosen.askedAt = new Map(running.map(({ seat, began }) => [seat, began]));
      return chosen.askedAt;
    };

    /** Whoever is there now, be it one that was asked before, or the same again. */
    const runnerBeside = (
      call: Call<Q>,
      chosen: Chosen,
      running: readonly Asked<A>[],
    ): Asked<A> | undefined => {
      const { question, table } = chosen;
      question.now = clock();
      const askedAt = chosen.askedAt ?? noteSilence(chosen, running);
      const { peers, budgets } = table;
      const seat = chooseAgain({ choosing: chosen, question, peers, askedAt });
      if (!seat || seat.health.isFull(question.now)) return undefined;
      if (!budgets.retries.spend(question.now)) return undefined;
      askedAt.set(seat, question.now);
      if (!chosen.tried?.includes(seat)) chosen.tried = [...(chosen.tried ?? []), seat];
      const isSame = running.some((each) => each.seat === seat);
      note(call.trip, seat.target, isSame ? "asked again, for it said nothing" : askedAsWell);
      return runnerOf(call, chosen, seat);
    };

    /** Asks this one, and another as well when it hesitates. Whoever was asked is written down as tried. */
    const pursue = (call: Call<Q>, chosen: Chosen, seat: Seat): Promise<A> => {
      const { table, question } = chosen;
      const { signal, trip } = call;
      const repeated = chosen.tried?.includes(seat) === true;
      chosen.tried = chosen.tried ? [...chosen.tried, seat] : [seat];
      // Who would have to wait for its turn there is not slow for it.
      if (!sizeOf || isBusy(room, seat.target)) {
        return ask(call, seat, table, question.size, signal, repeated);
      }
      return race<A, Asked<A>>({
        first: runnerOf(call, chosen, seat, repeated),
        second: () => {
          question.now = clock();
          const other = chooseWell(chosen, question, "none");
          const { hedges, retries } = table.budgets;
          if (!other || other.health.isFull(question.now)) return undefined;
          if (!hedges.spend() || !retries.spend(question.now)) return undefined;
          chosen.tried = [...(chosen.tried ?? []), other];
          note(trip, other.target, askedAsWell);
          return runnerOf(call, chosen, other);
        },
        isReplaceable: () => isAnyWell(chosen, clock()) && table.budgets.retries.spend(clock()),
        another: (running) => runnerBeside(call, chosen, running),
        isFinal: (error) => !mayTryElsewhere(error, call),
        // Whose answer or fault is told, that one counts as the one that served.
        told: (asked) => {
          trip.target = asked.seat.target;
        },
        // Upstreams may charge for what is called off.
        wasted: (error) => {
          if (error === undefined || mayHaveCost(error)) trip.mayHavePaid = true;
        },
        signal,
        timers,
      });
    };

    /** Who is asked first. */
    const firstFor = (call: Call<Q>, chosen: Chosen): Seat => {
      const { question, seats, table } = chosen;
      if (seats.length === 0) throw unable(call.route.id);
      const seat = choose(chosen, question, tries);
      if (chosen.passedOver) account(call, chosen, seat);
      if (!seat) throw nobody(call.route.id, seats, question.now);
      // Only of those that somebody is asked for: in an outage all others would earn tries for what comes after it.
      table.budgets.retries.earn(question.now);
      table.budgets.hedges.earn();
      return seat;
    };

    /** There is room at this one now, if it still serves. */
    const afterWait = ({ route }: Call<Q>, chosen: Chosen, waitedFor: Seat): Seat => {
      const { question, seats } = chosen;
      question.now = clock();
      if (waitedFor.health.standing(question.now, seats.length === 1) === "in") return waitedFor;
      const seat = choose(chosen, question, tries);
      if (!seat) throw nobody(route.id, seats, question.now);
      return seat;
    };

    /** Who is asked after one that failed, and when: one that was not asked yet, or any of them again after a pause. */
    const nextFor = async (
      call: Call<Q>,
      chosen: Chosen,
      failed: Seat,
      error: unknown,
    ): Promise<Seat> => {
      const { trip, signal } = call;
      const { question, seats, table } = chosen;
      const { retries } = table.budgets;
      if (signal.aborted || !mayTryElsewhere(error, call)) throw error;
      if (mayHaveCost(error)) trip.mayHavePaid = true;
      question.now = clock();
      const other = choose(chosen, question, tries);
      let waitMs: number | undefined;
      // What never left is no second question, and who was called off for another has its retry.
      const isFree = isUnsent(error) || isReplaced(error);
      if (other) waitMs = isFree ? 0 : retries.take(question.now, random);
      else if (seats.some(({ health }) => !health.breaker.open)) {
        waitMs = pauseMs(error, call, chosen.repeats++, random);
        if (waitMs !== undefined && !retries.spend(question.now)) waitMs = undefined;
      }
      if (waitMs === undefined) throw error;
      // Those that draw write their own account of how it ended.
      if (!isThere) note(trip, failed.target, faultOf(error));
      if (waitMs > 0) await waited(waitMs, signal, timers);
      if (other) return other;
      question.now = clock();
      const again = chooseWell({ ...chosen, tried: undefined }, question, "none");
      if (!again) throw error;
      return again;
    };

    /** `failure`: what the only one has said to it already. */
    const askAny = async (
      call: Call<Q>,
      table: Table,
      failure?: { readonly error: unknown },
    ): Promise<A> => {
      const chosen = choosingFor(call, table);
      let seat: Seat;
      if (failure) {
        // What some have left out is new to those who are left.
        if (!call.order) chosen.tried = table.seats;
        seat = await nextFor(call, chosen, table.seats[0] as Seat, failure.error);
      } else seat = firstFor(call, chosen);
      for (;;) {
        if (line && seat.health.isFull(chosen.question.now)) {
          const { gate } = seat.health.concurrency;
          await line.wait(call, gate);
          // It is counted anew where it is asked now.
          gate.inside--;
          seat = afterWait(call, chosen, seat);
        }
        try {
          return await pursue(call, chosen, seat);
        } catch (error) {
          seat = await nextFor(call, chosen, seat, error);
        }
      }
    };

    return (call) => {
      const table = roster.tableOf(call.route);
      const [only] = table.seats;
      if (!call.order?.failure) call.trip.questions++;
      // Most models have one target, and nothing to choose.
      if (only && table.seats.length === 1 && !untilEnd) {
        if (only.health.mayGoUnmeasured) return askOnly(call, only, table);
        only.health.sampling.take(timers);
      }
      return askAny(call, table, call.order?.failure);
    };
  };

const askedAsWell = "asked as well, for the first was slow";
