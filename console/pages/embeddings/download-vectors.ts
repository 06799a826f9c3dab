/** Saves texts and vectors as JSON lines, the format that most vector databases import. */
import { saveFile } from "../../lib/save-file.ts";
import type { Embedded } from "./embed.ts";

export function downloadVectors(texts: readonly string[], { model, vectors }: Embedded): void {
  const lines = vectors.map((vector, at) =>
    JSON.stringify({ text: texts[at], model, embedding: [...vector] }),
  );
  saveFile(`${model.replaceAll("/", "-")}.jsonl`, new Blob([lines.join("\n")]));
}
