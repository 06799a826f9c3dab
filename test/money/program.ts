/**
 * A random program: API keys, projects, end users and tags with budgets, and what their clients send at which moment. A
 * seed repeats the program, not the order in which its requests meet.
 */
import { Random } from "./random.ts";

/** US dollars in billionths: every amount of the law is a whole number of them. */
export type Nano = number;
export const nanoOf = (dollars: number): Nano => Math.round(dollars * 1e9);

export type Period = "day" | "month" | "total";
export type Limits = Readonly<Partial<Record<Period, Nano>>>;

/** How a vendor responds to one attempt. */
export type Behavior =
  | "ok"
  | "slow"
  /** The response lacks its usage, or has an absurd one. */
  | "no-usage"
  | "implausible"
  /** The vendor refuses the request, and bills nothing. */
  | "busy"
  | "refused"
  /** The vendor may have done the work. */
  | "broken"
  | "cut"
  | "hangs";

export const models = {
  /** Two vendors of different prices: retries and hedged requests. */
  pair: { kind: "embedding", perToken: 11_000, priced: true },
  single: { kind: "embedding", perToken: 13_000, priced: true },
  unpriced: { kind: "embedding", perToken: 0, priced: false },
  batched: { kind: "embedding", perToken: 10_000, priced: true },
  image: { kind: "image", perImage: 4_000_000, priced: true },
  tokens: { kind: "image", perImage: 0, priced: true },
  "unpriced-image": { kind: "image", perImage: 0, priced: false },
  "batched-image": { kind: "image", perImage: 3_000_000, priced: true },
} as const;
export type Model = keyof typeof models;

export interface Key {
  readonly name: string;
  readonly secret: string;
  readonly project?: string;
  readonly budget?: Limits;
}

export interface Project {
  readonly name: string;
  readonly budget?: Limits;
  readonly perEndUser?: Limits;
  /** Of tags that begin with `team:`. */
  readonly perTeam?: Limits;
}

interface Common {
  readonly id: number;
  /** Milliseconds since the start of the program. */
  readonly at: number;
  readonly key: string;
  /** The replica that gets the request, modulo their number. */
  readonly replica: number;
  readonly model: Model;
  readonly endUser?: string;
  readonly team?: string;
  /** Of the first attempts. Later ones succeed. */
  readonly behaviors: readonly Behavior[];
  /** The client closes the connection, or cancels the job, after this time. */
  readonly leavesAfterMs?: number;
}

export interface EmbeddingsOp extends Common {
  readonly kind: "embeddings" | "batch" | "vendor-batch";
  /** Of a batch: one text for each line. */
  readonly texts: readonly string[];
}

export interface ImageOp extends Common {
  readonly kind: "generation" | "edit" | "image-job" | "vendor-image-batch";
  /** Images of one request. Of a batch: lines. */
  readonly count: number;
  readonly prompts: readonly string[];
}

export type Op = EmbeddingsOp | ImageOp;

export interface Program {
  readonly seed: number;
  readonly keys: readonly Key[];
  readonly projects: readonly Project[];
  readonly ops: readonly Op[];
  readonly durationMs: number;
  /** The budget of a key is lowered while it is used. */
  readonly lowered: { readonly key: string; readonly at: number; readonly budget: Limits };
}

export const isEmbeddings = (op: Op): op is EmbeddingsOp =>
  op.kind === "embeddings" || op.kind === "batch" || op.kind === "vendor-batch";

/** Clients and vendors name texts by their first word: `12.3` is the fourth text of the operation 12. */
export const nameOf = (text: string): string => text.slice(0, text.indexOf(" "));
export const isShared = (name: string): boolean => name.startsWith("shared");
export const opOf = (name: string): number => Number(name.split(".")[0]);

const words = "copper lantern river seven orchard quiet ribbon marble winter saddle".split(" ");

const fillText = (random: Random, name: string, bytes: number): string => {
  let text = `${name} `;
  while (text.length < bytes) text += `${random.pick(words)} `;
  return text.slice(0, bytes).padEnd(name.length + 2, "x");
};

/** One token for each byte, and two for each text. */
export const maxTokensOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + text.length + 2, 0);

/** The most that the first attempt can cost. Undefined if it is not known to the law. */
export function maxCostOf(op: Op): Nano | undefined {
  if (isEmbeddings(op)) return maxTokensOf(op.texts) * models[op.model as "pair"].perToken;
  const { priced } = models[op.model];
  if (!priced) return 0;
  return op.model === "tokens"
    ? undefined
    : op.count * op.prompts.length * models[op.model as "image"].perImage;
}

/** Small requests of one key, one after the other, before, during and after the faults of the program. */
const stormFrom = 1500;

/** Which kinds of faults the programs of a topology have, beside those of vendors and clients. */
export interface ProgramOptions {
  readonly hasJobs: boolean;
  /** After kill -9, an image batch that may have been created at the vendor is looked for two minutes later. */
  readonly hasImageBatches?: boolean;
  readonly ops?: number;
  readonly durationMs?: number;
}

export function randomProgram(
  seed: number,
  { hasJobs, hasImageBatches = hasJobs, ops: count = 240, durationMs = 8000 }: ProgramOptions,
): Program {
  const random = new Random(seed);
  const dollars = (from: number, to: number): Nano => nanoOf(from + (to - from) * random.next());
  const projects: Project[] = [
    {
      name: "wide",
      budget: { total: dollars(0.1, 0.3), month: dollars(0.2, 0.4) },
      perEndUser: { day: dollars(0.01, 0.06) },
      perTeam: { month: dollars(0.02, 0.1) },
    },
    { name: "narrow", budget: { day: dollars(0.02, 0.08) } },
    { name: "labels", perEndUser: { month: dollars(0.02, 0.06) } },
    { name: "storm", perEndUser: { day: dollars(0.05, 0.15) } },
    { name: "free" },
  ];
  const keyOf = (name: string, more: Omit<Key, "name" | "secret">): Key => ({
    name,
    secret: `sk-money-${name}-0123456789`,
    ...more,
  });
  const keys: Key[] = [
    keyOf("wide-1", { project: "wide" }),
    keyOf("wide-2", { project: "wide", budget: { month: dollars(0.05, 0.2) } }),
    keyOf("narrow-1", { project: "narrow" }),
    keyOf("narrow-2", { project: "narrow", budget: { total: dollars(0.02, 0.1) } }),
    keyOf("labels-1", { project: "labels" }),
    keyOf("alone", { budget: { day: dollars(0.03, 0.1), total: dollars(0.05, 0.1) } }),
    keyOf("storm-1", { project: "storm", budget: { month: dollars(0.15, 0.5) } }),
    keyOf("large", { budget: { total: nanoOf(1) } }),
    keyOf("free-1", { project: "free" }),
    keyOf("free-2", {}),
  ];
  const shared = Array.from({ length: 12 }, (_, at) =>
    fillText(random, `shared${at}`, random.whole(40, 200)),
  );
  const ops: Op[] = [];
  /** Many requests of one key within a moment, which meet at the end of its budget. */
  const bursts = Array.from({ length: 4 }, () => ({
    at: random.whole(200, durationMs - 500),
    key: random.pick(keys.filter(({ name }) => !/^(free|storm|large)/.test(name))).name,
  }));
  const others = keys.filter(({ name }) => name !== "storm-1" && name !== "large");
  for (let id = 0; id < count; id++) {
    const burst = random.chance(0.45) ? random.pick(bursts) : undefined;
    const { name: key, project } =
      others.find(({ name }) => name === burst?.key) ?? random.pick(others);
    const common = {
      id,
      at: burst ? burst.at + random.whole(0, 400) : random.whole(0, durationMs),
      key,
      replica: random.whole(0, 2),
      behaviors: randomBehaviors(random, burst !== undefined),
      ...(project !== undefined && random.chance(0.5) && { endUser: random.pick(["ada", "bob"]) }),
      ...(project !== undefined && random.chance(0.4) && { team: random.pick(["red", "blue"]) }),
      ...(random.chance(burst ? 0.03 : 0.08) && { leavesAfterMs: random.whole(5, 400) }),
    };
    const kind = burst
      ? "embeddings"
      : random.weighted({
          embeddings: 70,
          generation: 10,
          edit: 4,
          "image-job": hasJobs ? 5 : 0,
          batch: hasJobs ? 2.5 : 0,
          "vendor-batch": hasJobs ? 2.5 : 0,
          "vendor-image-batch": hasImageBatches ? 1 : 0,
        });
    ops.push(randomOp(random, kind, common, { shared, isSmall: burst !== undefined }));
  }
  for (let at = stormFrom; at < durationMs + 2000; at += random.whole(5, 35)) {
    const id = ops.length;
    ops.push({
      ...{ id, at, kind: "embeddings", key: "storm-1", model: "single", behaviors: [] },
      ...{ replica: random.whole(0, 2), texts: [fillText(random, `${id}.0`, 100)] },
      ...(random.chance(0.3) && { endUser: "ada" }),
    });
  }
  if (hasJobs) {
    const id = ops.length;
    const texts = Array.from({ length: 1000 }, (_, at) => fillText(random, `${id}.${at}`, 60));
    ops.push({
      ...{ id, at: 300, kind: "vendor-batch", key: "large", model: "batched", behaviors: [] },
      ...{ replica: 0, texts },
    });
  }
  const lowered = {
    key: "storm-1",
    at: random.whole(5000, durationMs),
    budget: { month: dollars(0.05, 0.15) },
  };
  return { seed, keys, projects, ops: ops.toSorted((a, b) => a.at - b.at), durationMs, lowered };
}

function randomBehaviors(random: Random, isBurst: boolean): readonly Behavior[] {
  if (random.chance(isBurst ? 0.9 : 0.7)) return [random.chance(0.3) ? "slow" : "ok"];
  const behavior = (): Behavior =>
    random.weighted({
      "no-usage": 3,
      implausible: 2,
      busy: 2,
      refused: 1,
      broken: 3,
      cut: 2,
      hangs: 1,
      slow: 2,
    });
  return random.chance(0.7) ? [behavior()] : [behavior(), behavior(), behavior()];
}

function randomOp(
  random: Random,
  kind: Op["kind"],
  common: Omit<Common, "model">,
  { shared, isSmall }: { readonly shared: readonly string[]; readonly isSmall: boolean },
): Op {
  const { id } = common;
  const named = (count: number): string[] =>
    Array.from({ length: count }, (_, at) =>
      fillText(random, `${id}.${at}`, random.whole(40, isSmall ? 160 : 400)),
    );
  switch (kind) {
    case "embeddings": {
      const model = random.weighted({ pair: 5, single: 4, unpriced: 1 });
      const own = named(isSmall || random.chance(0.6) ? 1 : random.whole(2, 8));
      const texts = random.chance(0.2) ? [...own, random.pick(shared)] : own;
      return { ...common, kind, model, texts: model === "unpriced" ? own : texts };
    }
    case "batch": {
      const model = random.pick(["pair", "single"] as const);
      return { ...common, kind, model, texts: named(random.whole(2, 20)) };
    }
    case "vendor-batch":
      return { ...common, kind, model: "batched", texts: named(random.whole(2, 20)) };
    case "vendor-image-batch": {
      const prompts = named(random.whole(1, 3));
      return { ...common, kind, model: "batched-image", count: 1, prompts };
    }
    case "generation":
    case "edit":
    case "image-job": {
      const isBudgeted = !common.key.startsWith("free");
      const model = random.weighted({
        image: 6,
        // The law does not know what it reserves, so it has no part in what is admitted.
        tokens: isBudgeted || kind === "edit" ? 0 : 3,
        "unpriced-image": kind === "edit" ? 0 : 1,
      });
      return { ...common, kind, model, count: random.whole(1, 3), prompts: named(1) };
    }
  }
}
