/** Fixture of the preflight tests: edits, masks, and a check with a real image worker. */
import { expect } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { checkEdit, type EditRules } from "../../server/images/preflight.ts";
import type { EditQuery, FilePart, ImageSource } from "../../server/upstream/contract.ts";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
import type { ImageInspection } from "../../server/workers/image/messages.ts";
import type { WorkerInput } from "../../server/workers/image/worker-input.ts";
import {
  expectError,
  generated,
  never,
  newRequestTemp,
  speckled,
  watched,
} from "../workers/image-worker-fixture.ts";

export const file = (part: FilePart): ImageSource => ({ kind: "file", file: part });
export const url = (text: string): ImageSource => ({ kind: "url", url: text });
export const dataUrl = (bytes: Uint8Array, type = "image/png"): ImageSource =>
  url(`data:${type};base64,${Buffer.from(bytes).toString("base64")}`);

export function edit(images: readonly (FilePart | ImageSource)[], more: Partial<EditQuery> = {}) {
  const sources = images.map((image) => ("kind" in image ? image : file(image)));
  const none = { model: "m", prompt: "p", stream: false, options: {}, extraFields: {}, files: [] };
  return { ...none, images: sources, ...more } satisfies EditQuery;
}

export const noise = (width: number, height: number) =>
  generated(speckled(width, height, 3), width, height, 3);

/** Of this size, transparent in its upper half. */
export function maskPng(width: number, height: number): Promise<Buffer> {
  const pixels = new Uint8Array(width * height * 4).map((_, i) =>
    i % 4 === 3 && i > width * height * 2 ? 255 : 0,
  );
  return generated(pixels, width, height, 4).png().toBuffer();
}

export function checker() {
  const processes = watched();
  const imageWorker = createImageWorker({ spawn: processes.spawn });
  const temp = newRequestTemp();
  /** The checked query, and how its images and its mask were inspected. Undefined if it was not inspected. */
  const check = async (query: EditQuery, rules: Partial<EditRules> = {}) => {
    const inspections = new Map<WorkerInput, ImageInspection>();
    const inspect: EditRules["imageWorker"]["inspect"] = async (image, ...more) => {
      const inspection = await (rules.imageWorker ?? imageWorker).inspect(image, ...more);
      inspections.set(image, inspection);
      return inspection;
    };
    const checked = await checkEdit(query, { temp, ...rules, imageWorker: { inspect } }, never);
    const inspectionOf = (source?: ImageSource) =>
      source?.kind === "file" ? inspections.get(source.file) : undefined;
    const { images, mask } = checked;
    return { query: checked, images: images.map(inspectionOf), mask: inspectionOf(mask) };
  };
  return {
    imageWorker,
    processes,
    check,
    refused: async (query: EditQuery, kind: ErrorKind, param: string, message: RegExp) => {
      const error = await expectError(check(query), kind, message);
      expect([error.details.param, error.definition.status]).toEqual([param, 400]);
    },
    close: async () => {
      await imageWorker.close();
      await temp.clear();
    },
  };
}
