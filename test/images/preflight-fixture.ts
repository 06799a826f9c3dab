/** Fixture of the preflight tests: edits, masks, and a check with a real image worker. */
import { expect } from "bun:test";
import type { ErrorKind } from "../../contract/errors.ts";
import { checkEdit, type EditRules } from "../../server/images/preflight.ts";
import type { EditQuery, FilePart, ImageSource } from "../../server/upstream/contract.ts";
import { createImageWorker } from "../../server/workers/image/image-worker.ts";
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
  const check = (query: EditQuery, rules: Partial<EditRules> = {}) =>
    checkEdit(query, { imageWorker, temp, ...rules }, never);
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
