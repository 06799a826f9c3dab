/**
 * Drift canary: embeds one short text on every target of a model and compares the vectors by cosine similarity. Model
 * names can be wrong and weights can change without notice; a target with vectors of another vector space would corrupt
 * every index built from its responses, so such a target is excluded until its vector matches again.
 */

import type { Model, Snapshot } from "../config/snapshot.ts";
import { runConcurrently } from "../lib/tasks.ts";
import type { EmbeddingsQuery, Target, Vector } from "../upstream/contract.ts";
import { floatsOf } from "./vector-formats.ts";

export interface CanaryOptions {
  readonly snapshot: () => Snapshot;
  /** Requests the vector of the query's one text from this target. */
  readonly embed: (
    query: EmbeddingsQuery,
    target: Target,
    signal: AbortSignal,
  ) => Promise<Vector | undefined>;
  /** Called when a target drifts, is realigned, or cannot be compared. */
  readonly report: (report: CanaryReport) => void;
  /** The longest time that a target is excluded because it has not been checked. Absent, or 0: it is used at once. */
  readonly graceMs?: number;
  /** Milliseconds, monotonic. */
  readonly clock?: () => number;
  /** Called when a model has targets that have not been checked. */
  readonly onUnchecked?: () => void;
  /** Called when a target that did not respond to its last check has responded to a client. */
  readonly onResponding?: () => void;
}

export interface CanaryReport {
  readonly status: "drifted" | "realigned" | "silent";
  readonly model: string;
  readonly target: Target;
  /** The measurement in words, for the operator. */
  readonly reason: string;
}

/** Models that are checked at the same time. */
const maxConcurrentModels = 8;

const text = "The canary sang in the mine, and everybody knew that the air was good.";

/**
 * Cosine similarity: about 0.9999 for the same weights on different machines, about 0.99 for int8-quantized copies; far
 * less for other weights, or for another instruction prefix.
 */
const minSimilarity = 0.985;

export function createCanary(options: CanaryOptions) {
  const { snapshot, embed, report } = options;
  const { graceMs = 0, clock = () => 0, onUnchecked, onResponding } = options;
  const drifted = new Set<string>();
  /** Targets that were compared, and first targets that responded. */
  const checked = new Set<string>();
  /** Models whose targets have all been checked. */
  const fullyChecked = new WeakSet<Model>();
  /** When the grace period of an unchecked target began. By key: a reload does not begin it again. */
  const uncheckedSince = new Map<string, number>();
  const silent = new Set<string>();
  const closing = new AbortController();
  const reportSilent = (model: Model, target: Target, reason: string): void => {
    const key = checkKey(model, target);
    if (!silent.has(key) && !closing.signal.aborted)
      report({ status: "silent", model: model.id, target, reason });
    silent.add(key);
  };
  const markChecked = (model: Model, target: Target): void => {
    const key = checkKey(model, target);
    checked.add(key);
    silent.delete(key);
    uncheckedSince.delete(key);
  };

  const embedText = async (model: Model, target: Target): Promise<Float32Array | string> => {
    if (closing.signal.aborted) return "the canary is closed";
    const query: EmbeddingsQuery = {
      model: model.id,
      input: { kind: "text", texts: [text] },
      single: true,
      encoding: "base64",
      extraFields: {},
    };
    try {
      const vector = await embed(query, target, closing.signal);
      return comparableVector(vector) ?? "its response holds no vector";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };

  const compare = (
    model: Model,
    target: Target,
    vector: Float32Array,
    first: Float32Array,
  ): void => {
    const similarity = cosineSimilarity(vector, first);
    const reference = model.targets[0] as Target;
    if (similarity >= minSimilarity) {
      if (drifted.delete(checkKey(model, target))) {
        report({
          status: "realigned",
          model: model.id,
          target,
          reason: `cosine ${similarity.toFixed(4)}`,
        });
      }
      return;
    }
    if (drifted.has(checkKey(model, target))) return;
    drifted.add(checkKey(model, target));
    const reason =
      vector.length === first.length
        ? `its vectors differ from those of ${reference.upstream.id}: the cosine similarity for one text is ${similarity.toFixed(4)}`
        : `its vectors have ${vector.length} dimensions, those of ${reference.upstream.id} ${first.length}`;
    report({ status: "drifted", model: model.id, target, reason });
  };

  /** The first target is the reference, since the operator put it first. */
  const checkModel = async (model: Model): Promise<void> => {
    const [reference, ...others] = model.targets as [Target, ...Target[]];
    const first = await embedText(model, reference);
    if (typeof first === "string") {
      reportSilent(model, reference, first);
      return;
    }
    markChecked(model, reference);
    await Promise.all(
      others.map(async (target) => {
        const vector = await embedText(model, target);
        if (typeof vector === "string") {
          reportSilent(model, target, vector);
          return;
        }
        markChecked(model, target);
        compare(model, target, vector, first);
      }),
    );
  };

  const hasDrifted = (model: Model, target: Target): boolean => {
    if (silent.size > 0 && silent.has(checkKey(model, target))) onResponding?.();
    return drifted.size > 0 && drifted.has(checkKey(model, target));
  };

  /** Begins the grace period of an unchecked target, unless it has begun. */
  const beginGrace = (model: Model, target: Target): boolean => {
    if (target === model.targets[0]) return false;
    const key = checkKey(model, target);
    if (checked.has(key) || uncheckedSince.has(key)) return false;
    uncheckedSince.set(key, clock());
    return true;
  };

  /**
   * The target has not been checked, and its grace period has not passed. False for the first target, the reference.
   */
  const awaitsFirstCheck = (model: Model, target: Target): boolean => {
    const { targets } = model;
    // At once: most models have a single target.
    if (target === targets[0]) return false;
    if (targets.slice(1).every((other) => checked.has(checkKey(model, other)))) {
      fullyChecked.add(model);
      return false;
    }
    if (beginGrace(model, target)) onUnchecked?.();
    const since = uncheckedSince.get(checkKey(model, target));
    return since !== undefined && clock() - since < graceMs;
  };

  /** A single target has nothing to be compared with. */
  const comparableModels = (): Model[] =>
    [...snapshot().models.values()].filter(
      ({ kind, targets }) => kind === "embedding" && targets.length > 1,
    );

  return {
    /** Checks every model with unchecked targets, or all models. The grace period of unchecked targets begins now. */
    check: async (all: boolean): Promise<void> => {
      const models = comparableModels().filter(
        (model) => all || model.targets.some((target) => !checked.has(checkKey(model, target))),
      );
      for (const model of models) for (const target of model.targets) beginGrace(model, target);
      // Concurrently: a target that does not respond must not delay the check of the others.
      await runConcurrently(models.reverse(), maxConcurrentModels, checkModel);
    },
    /**
     * Called for each response. Drift is tracked per model: a target that drifts from one model's first target may be
     * the first target of another model.
     */
    hasDrifted,
    /** A target is excluded because it has not been checked yet. */
    isComparing: (): boolean =>
      graceMs > 0 &&
      comparableModels().some((model) =>
        model.targets.some((target) => awaitsFirstCheck(model, target)),
      ),
    /**
     * The target has drifted, or has not been checked yet. The first check follows a start or a reload; until then the
     * first target serves alone, but no longer than the grace period: then the others are used, checked or not.
     */
    isExcluded: (model: Model, target: Target): boolean =>
      (drifted.size > 0 && drifted.has(checkKey(model, target))) ||
      (graceMs > 0 && !fullyChecked.has(model) && awaitsFirstCheck(model, target)),
    /** Cancels the checks in flight, and reports nothing more. */
    close: (): void => closing.abort(),
  };
}

/** Everything that the vectors of a target depend on. Stable across reloads, which make new objects. */
const keyOf = ({ upstream: { id, kind, baseUrl, options, headers }, model }: Target): string =>
  JSON.stringify([id, kind, baseUrl, options, headers, model]);

/** Includes the first target: when the reference changes, earlier results no longer apply. */
const checkKey = ({ id, space, targets }: Model, target: Target): string =>
  JSON.stringify([id, space, keyOf(targets[0] as Target), keyOf(target)]);

/** Undefined for a zero vector, which cannot be compared. */
function comparableVector(vector: Vector | undefined): Float32Array | undefined {
  const numbers = vector === undefined ? undefined : floatsOf(vector);
  const floats = numbers && Float32Array.from(numbers);
  return floats && cosineSimilarity(floats, floats) > 0 ? floats : undefined;
}

/** -1 for vectors that cannot be compared at all. */
export function cosineSimilarity(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return -1;
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa === 0 || bb === 0 ? -1 : dot / Math.sqrt(aa * bb);
}
