/** Checks that the web UI used the requested checkpoint: it ignores an unknown one without an error. */
import { memberOf } from "../wire/members.ts";

/**
 * modules/sd_models.py, CheckpointInfo.ids: a checkpoint may be called by its file with or without folder and ending, with
 * its hash behind it, or by the hash alone. `facts`: what the answer says of itself; where it says nothing, it is believed.
 */
export function isCheckpoint(requested: string, facts: unknown): boolean {
  const used = memberOf(facts, "sd_model_name");
  if (typeof used !== "string" || used === "" || /^[0-9a-f]{8,64}$/i.test(requested)) return true;
  const file = requested
    .replace(/ \[[0-9a-f]+\]$/i, "")
    .replace(/\.(safetensors|ckpt|pth?|gguf)$/i, "");
  const name = file.split(/[\\/]/).at(-1) ?? file;
  // A folder may also stand before the name with `_` for its slash.
  return name === used || name.endsWith(`_${used}`);
}
