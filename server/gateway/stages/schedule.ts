/**
 * Which door, and which next: asks one of a model's targets, and another where the fault says that this may help and
 * the model has a try left to spend.
 */
import { GatewayError } from "../../std/gateway-error.ts";
import type { Target } from "../../upstream/contract.ts";
import { note, notePassedOver } from "../scheduling/account.ts";
import { staleProbeMs } from "../scheduling/breaker.ts";
import {
  type Choosing,
  choose,
  chooseWell,
  isBusy,
  nobody,
  type Room,
} from "../scheduling/choose.ts";
import { chooseAgain } from "../scheduling/choose-again.ts";
import type { Question, Seat } from "../scheduling/policies/policy.ts";
import type { Roster, Table } from "../scheduling/roster.ts";
import { waited } from "../scheduling/waited.ts";
import { createAttempt } from "./attempt.ts";
import { type Runner, race } from "./hedge.ts";
import type { Call, Stage } from "./stage.ts";

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
    const { roster, able, sizeOf, priceOf, room, untilEnd, isThere } = options;
    const { clock, random, timers } = roster;
    const tries = isThere ? "looked-at" : "any";
    const { ask, askOnly } = createAttempt({ next, clock, untilEnd, sizeOf });

    const choosingFor = (call: Call<Q>, table: Table): Chosen => {
      const { policy } = table;
      const question = {
        now: clock(),
        random,
        size: sizeOf ? sizeOf(call.query) : 0,
        caller: call.route.policy === "sticky" ? Bun.hash.crc32(call.trip.caller?.id ?? "") : 0,
        price: ({ target }: Seat) => priceOf?.(call, target),
      };
      const seats = able ? ableOf(table.seats, (target) => able(call, target)) : table.seats;
      return { seats, policy, tried: undefined, room, passedOver: false, question, table };
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

    const runnerOf = (call: Call<Q>, { table, question }: Chosen, seat: Seat): Asked<A> => {
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
        run: (signal) => ask(call, seat, table, size, signal),
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
      if (!seat || !budgets.retries.spend(question.now)) return undefined;
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
      chosen.tried = chosen.tried ? [...chosen.tried, seat] : [seat];
      // Who would have to wait for its turn there is not slow for it.
      if (!sizeOf || isBusy(room, seat.target)) {
        return ask(call, seat, table, question.size, signal);
      }
      return race<A, Asked<A>>({
        first: runnerOf(call, chosen, seat),
        second: () => {
          question.now = clock();
          const other = chooseWell(chosen, question, "none");
          const { hedges, retries } = table.budgets;
          if (!other || !hedges.spend() || !retries.spend(question.now)) return undefined;
          chosen.tried = [...(chosen.tried ?? []), other];
          note(trip, other.target, askedAsWell);
          return runnerOf(call, chosen, other);
        },
        isReplaceable: () => isAnyWell(chosen, clock()),
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

    const askAny = async (call: Call<Q>, table: Table): Promise<A> => {
      const { route, trip, signal } = call;
      const chosen = choosingFor(call, table);
      const { question } = chosen;
      const { retries, hedges } = table.budgets;
      if (chosen.seats.length === 0) throw unable(route.id);
      if (table.seats.length > 1) trip.questions++;
      retries.earn(question.now);
      hedges.earn();
      let seat = choose(chosen, question, tries);
      if (chosen.passedOver) account(call, chosen, seat);
      if (!seat) throw nobody(route.id, chosen.seats, question.now);
      for (;;) {
        try {
          return await pursue(call, chosen, seat);
        } catch (error) {
          if (signal.aborted || !mayTryElsewhere(error, call)) throw error;
          if (mayHaveCost(error)) trip.mayHavePaid = true;
          question.now = clock();
          const failed = seat.target;
          seat = choose(chosen, question, tries);
          if (!seat) throw error;
          // What never left is no second question.
          const waitMs = isUnsent(error) ? 0 : retries.take(question.now, random);
          if (waitMs === undefined) throw error;
          // Those that draw write their own account of how it ended.
          if (!isThere) note(trip, failed, faultOf(error));
          if (waitMs > 0) await waited(waitMs, signal, timers);
        }
      }
    };

    return (call) => {
      const table = roster.tableOf(call.route);
      const [only] = table.seats;
      // Most models have one target, and nothing to choose.
      if (only && table.seats.length === 1 && !untilEnd) {
        if (only.health.mayGoUnmeasured) return askOnly(call, only);
        only.health.sampling.take(timers);
      }
      return askAny(call, table);
    };
  };

/** The list itself where all of it can. A single target is asked in any case: what it says is the best answer there is. */
function ableOf(seats: readonly Seat[], able: (target: Target) => boolean): readonly Seat[] {
  if (seats.length === 1) return seats;
  let some: Seat[] | undefined;
  for (let at = 0; at < seats.length; at++) {
    const seat = seats[at] as Seat;
    if (able(seat.target)) some?.push(seat);
    else some ??= seats.slice(0, at);
  }
  return some ?? seats;
}

/** Is there somebody else, who was not asked yet? */
function isAnyWell({ seats, tried }: Choosing, now: number): boolean {
  for (const seat of seats) {
    if (!tried?.includes(seat) && seat.health.standing(now, false) === "in") return true;
  }
  return false;
}

/** A picture that may have been paid for is not ordered a second time, unless the model says so. */
function mayTryElsewhere<Q>(error: unknown, { operation, route }: Call<Q>): boolean {
  if (!(error instanceof GatewayError)) return false;
  // What one account may not use, or one place does not have, another may; and nothing was made for it.
  if (ownRefusals.has(error.fault)) return true;
  if (error.row.retry !== "elsewhere") return false;
  return operation === "embeddings" || route.retryPaid === true || !mayHaveCost(error);
}

/** The upstream may have done the work, and may send a bill. */
function mayHaveCost(error: unknown): boolean {
  if (!(error instanceof GatewayError) || error.details.unsent) return false;
  if (error.details.paid) return true;
  return error.row.maybePaid === true && !error.details.unmade;
}

const faultOf = (error: unknown): string =>
  error instanceof GatewayError ? error.fault : "defect";

const ownRefusals: ReadonlySet<string> = new Set(["model_not_found", "upstream_forbidden"]);

const isUnsent = (error: unknown): boolean =>
  error instanceof GatewayError && error.details.unsent === true;

const askedAsWell = "asked as well, for the first was slow";

const unable = (model: string): GatewayError =>
  new GatewayError(
    "upstream_invalid",
    `No target of the model \`${model}\` can serve this call: those that could give vectors that cannot be compared with the model's others. Ask the operator of this gateway.`,
  );
