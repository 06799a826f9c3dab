/** Saves texts, file names of images, and vectors as JSON lines. */
import { saveFile } from "../../lib/save-file.ts";
import type { Embedded } from "./embed.ts";
import { type Entry, isImage, nameOf } from "./entries.ts";

export async function downloadVectors(
  entries: readonly Entry[],
  { model, vectors }: Embedded,
): Promise<void> {
  const names = entries.map((entry) => ({ [isImage(entry) ? "image" : "text"]: nameOf(entry) }));
  const lines = await vectors.call("lines", { names, model });
  saveFile(`${model.replaceAll("/", "-")}.jsonl`, lines);
}
