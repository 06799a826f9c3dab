/** The pictures of an edit as members of a JSON body: files among them as data: URLs, references as they came. */
import type { ExtraFields, ImageSource } from "../../contract.ts";
import { asDataUrl } from "../wire/edit-sources.ts";

export const referenceTo = (source: ImageSource): ExtraFields =>
  source.kind === "file_id" ? { file_id: source.id } : { image_url: asDataUrl(source) };
