/** The GPT image family. Unlike other models' responses, theirs have `b64_json` and `usage`, and no links. */
import type { Target } from "../../contract.ts";

const family = /^(?:chat)?gpt-?image/i;

/** Matches the vendor's model name, with or without the owner, or the public model id. */
const isGptImage = (model: string): boolean => family.test(model.slice(model.lastIndexOf("/") + 1));

/** Whether clients of the model expect the response of a GPT image model. */
export const isOfGptFamily = (publicId: string, target: Target | undefined): boolean =>
  isGptImage(publicId) || (target !== undefined && isGptImage(target.model));
