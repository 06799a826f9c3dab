/** The built-in models by their upstream kind. A model is loaded with its first request. */
import type { BuiltInModel } from "../upstream/contract.ts";
import { createLocal } from "./embedding/local.ts";
import { createMinilm } from "./embedding/minilm.ts";
import { createSketchWorker } from "./sketch/sketch-worker.ts";

interface BuiltInModelOptions {
  /** Called each time a model has been loaded, with its id and metadata of its runtime. */
  readonly onReady: (model: string, metadata: Readonly<Record<string, string | number>>) => void;
}

export const buildBuiltInModels = (
  options: BuiltInModelOptions,
): ReadonlyMap<string, BuiltInModel> =>
  new Map<string, BuiltInModel>([
    ["minilm", createMinilm(options)],
    ["local", createLocal(options)],
    ["sketch", createSketchWorker(options)],
  ]);
