/** Loads onnxruntime-node, an optional dependency that is absent on some platforms. */
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";

/** The part of onnxruntime-node 1.17.0 that is used; the package has no types. */
export interface Onnxruntime {
  readonly InferenceSession: {
    create(model: string | Uint8Array, options: SessionOptions): Promise<OnnxSession>;
  };
  readonly Tensor: new (
    type: TensorKind,
    data: TensorValues,
    dims: readonly number[],
  ) => OnnxTensor;
}

type TensorKind = "int64" | "int32" | "float32";
type TensorValues = BigInt64Array | Int32Array | Float32Array;

export interface OnnxTensor {
  readonly type: string;
  readonly data: TensorValues;
  readonly dims: readonly number[];
}

export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(
    feeds: Readonly<Record<string, OnnxTensor>>,
    outputs: readonly string[],
  ): Promise<Readonly<Record<string, OnnxTensor>>>;
}

interface SessionOptions {
  readonly intraOpNumThreads: number;
  readonly interOpNumThreads: number;
  readonly graphOptimizationLevel: "all";
  readonly executionMode: "sequential";
  readonly enableMemPattern: boolean;
  readonly logSeverityLevel: number;
}

/** Throws when it is not installed, or its binary does not load here. */
export function loadOnnxruntime(specifier: string): Onnxruntime {
  return createRequire(import.meta.url)(specifier) as Onnxruntime;
}

export const sessionOptions: SessionOptions = {
  // One core is left to the gateway; past four, a small model gains little.
  intraOpNumThreads: Math.max(1, Math.min(4, availableParallelism() - 1)),
  interOpNumThreads: 1,
  graphOptimizationLevel: "all",
  executionMode: "sequential",
  // It keeps memory for every input shape, and nearly every request has a new shape.
  enableMemPattern: false,
  logSeverityLevel: 3,
};
