/** The input images of an edit in a JSON body: files as data: URLs, references unchanged. */

import type { ExtraFields, ImageSource } from "../../contract.ts";
import { asDataUrl } from "../wire/build-request.ts";

export const referenceTo = (source: ImageSource): ExtraFields =>
  source.kind === "file_id" ? { file_id: source.id } : { image_url: asDataUrl(source) };
