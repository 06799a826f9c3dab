/** Checks that the web UI used the requested checkpoint: it ignores an unknown one without an error. */
import { memberOf } from "../wire/members.ts";

/**
 * modules/sd_models.py, CheckpointInfo.ids: a checkpoint is named by its file with or without folder and extension,
 * with its hash appended, or by the hash alone. `info`: the response's metadata; without metadata the checkpoint is
 * assumed to match.
 */
export function isCheckpoint(requested: string, info: unknown): boolean {
  const used = memberOf(info, "sd_model_name");
  if (typeof used !== "string" || used === "" || /^[0-9a-f]{8,64}$/i.test(requested)) return true;
  const file = requested
    .replace(/ \[[0-9a-f]+\]$/i, "")
    .replace(/\.(safetensors|ckpt|pth?|gguf)$/i, "");
  const name = file.split(/[\\/]/).at(-1) ?? file;
  // A folder may also precede the name with `_` instead of its slash.
  return name === used || name.endsWith(`_${used}`);
}
