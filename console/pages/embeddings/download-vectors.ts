/** Saves texts and vectors as JSON lines. */
import { saveFile } from "../../lib/save-file.ts";
import type { Embedded } from "./embed.ts";

export async function downloadVectors(
  texts: readonly string[],
  { model, vectors }: Embedded,
): Promise<void> {
  const lines = await vectors.call("lines", { texts, model });
  saveFile(`${model.replaceAll("/", "-")}.jsonl`, lines);
}
