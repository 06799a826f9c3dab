/** `negative_prompt`, as most vendors name it, under the name that a vendor has for it. */
import type { ExtraFields } from "../../contract.ts";

/** The vendor's own name wins if a request has both. */
export function renameNegativePrompt(extraFields: ExtraFields, name: string): ExtraFields {
  if (!("negative_prompt" in extraFields)) return extraFields;
  const { negative_prompt, ...others } = extraFields;
  return { [name]: negative_prompt, ...others };
}
