/** The embedded models, by the kind a configuration calls them. Nothing is loaded before its first call. */
import type { Engine } from "./upstream/contract.ts";
import { createLocal } from "./upstream/local/embed/local.ts";
import { createMinilm } from "./upstream/local/embed/minilm.ts";
import { createMigan, isMiganInstalled } from "./upstream/local/inpaint/migan.ts";

export interface Engines {
  readonly engines: ReadonlyMap<string, Engine>;
  /** The optional inpainting model is there. */
  readonly migan: boolean;
}

export interface EngineOptions {
  /** How long an unused model stays in memory. */
  readonly idleMs: number;
  /** Told each time a model has been loaded, and how it runs. */
  readonly onReady: (name: string, facts: Readonly<Record<string, string | number>>) => void;
}

export function buildEngines({ idleMs, onReady }: EngineOptions): Engines {
  const migan = isMiganInstalled();
  return {
    engines: new Map<string, Engine>([
      ["minilm", createMinilm({ idleMs, onReady })],
      ["local", createLocal({ idleMs, onReady })],
      ["sketch", sketchOnFirstUse],
      ...(migan ? [["migan", createMigan({ idleMs })] as const] : []),
    ]),
    migan,
  };
}

const loadSketch = async () => (await import("./upstream/local/sketch/sketch.ts")).sketch;

/** The drawing program is many files; a gateway that never draws does not read them. */
const sketchOnFirstUse: Required<Pick<Engine, "generations" | "edits">> = {
  generations: async (...call) => (await loadSketch()).generations(...call),
  edits: async (...call) => (await loadSketch()).edits(...call),
};
