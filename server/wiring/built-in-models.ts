/** The built-in models by their upstream kind. A model is loaded with its first request. */
import type { BuiltInModel } from "../upstream/contract.ts";
import { createLocal } from "../workers/embedding/local.ts";
import { createMinilm } from "../workers/embedding/minilm.ts";
import { createMigan, isMiganInstalled } from "../workers/inpainting/migan.ts";
import { createSketchWorker } from "../workers/sketch/sketch-worker.ts";

interface BuiltInModelOptions {
  /** How long an unused model stays in memory. */
  readonly idleMs: number;
  /** Called each time a model has been loaded, with its id and metadata of its runtime. */
  readonly onReady: (model: string, metadata: Readonly<Record<string, string | number>>) => void;
}

/** `migan`: whether the optional inpainting model is installed. */
export function buildBuiltInModels({ idleMs, onReady }: BuiltInModelOptions) {
  const migan = isMiganInstalled();
  return {
    models: new Map<string, BuiltInModel>([
      ["minilm", createMinilm({ idleMs, onReady })],
      ["local", createLocal({ idleMs, onReady })],
      ["sketch", createSketchWorker({ idleMs, onReady })],
      ...(migan ? [["migan", createMigan({ idleMs })] as const] : []),
    ]),
    migan,
  };
}
