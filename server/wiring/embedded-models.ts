/** The embedded models by their upstream kind. A model is loaded with its first request. */
import type { EmbeddedModel } from "../upstream/contract.ts";
import { createLocal } from "../workers/embedding/local.ts";
import { createMinilm } from "../workers/embedding/minilm.ts";
import { createMigan, isMiganInstalled } from "../workers/inpainting/migan.ts";
import { createSketchWorker } from "../workers/sketch/sketch-worker.ts";

export interface EmbeddedModels {
  readonly models: ReadonlyMap<string, EmbeddedModel>;
  /** The optional inpainting model is installed. */
  readonly migan: boolean;
}

export interface EmbeddedModelOptions {
  /** How long an unused model stays in memory. */
  readonly idleMs: number;
  /** Called each time a model has been loaded, with metadata of its runtime. */
  readonly onReady: (name: string, metadata: Readonly<Record<string, string | number>>) => void;
}

export function buildEmbeddedModels({ idleMs, onReady }: EmbeddedModelOptions): EmbeddedModels {
  const migan = isMiganInstalled();
  return {
    models: new Map<string, EmbeddedModel>([
      ["minilm", createMinilm({ idleMs, onReady })],
      ["local", createLocal({ idleMs, onReady })],
      ["sketch", createSketchWorker({ idleMs, onReady })],
      ...(migan ? [["migan", createMigan({ idleMs })] as const] : []),
    ]),
    migan,
  };
}
