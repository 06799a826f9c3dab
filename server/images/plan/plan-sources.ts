/**
 * Checks the source images of an edit against the target's capabilities. Content is never dropped, whatever the
 * policy.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { EditQuery, FilePart, ImageSource } from "../../upstream/contract.ts";
import type { EditCapabilities } from "../../upstream/image-capabilities.ts";

/** Throws GatewayError where the target does not support the sources. */
export function checkSources(
  { images, mask, files }: EditQuery,
  edits: EditCapabilities | undefined,
  model: string,
): void {
  if (!edits) {
    throw new GatewayError(
      "unsupported_operation",
      `The model '${model}' generates images, but does not edit them.`,
      { param: "model" },
    );
  }
  if (images.length > edits.maxImages) {
    throw new GatewayError(
      "invalid_value",
      `Invalid 'image': too many images. Expected at most ${edits.maxImages} for this model, but got ${images.length}.`,
      { param: "image" },
    );
  }
  if (mask && !edits.mask)
    throw unsupportedParameter("mask", `The model '${model}' does not accept a mask`);
  const [extra] = files;
  if (extra && !edits.files)
    throw unsupportedParameter(extra.field, `The model '${model}' does not accept this file`);
  const sources = mask ? [...images, mask] : images;
  // A mask that is too large is re-encoded, and its size is checked then.
  for (const source of images) if (source.kind === "file") checkBytes(source.file, edits);
  if (edits.linksOnly && sources.some((source) => !isLink(source))) {
    throw new GatewayError(
      "invalid_value",
      `Invalid 'image': the model '${model}' downloads images from URLs and does not accept files. Send images: [{"image_url": "https://..."}].`,
      { param: "image" },
    );
  }
  if (sources.some(({ kind }) => kind === "file_id") && !edits.fileIds) {
    throw new GatewayError(
      "invalid_value",
      `Invalid 'images': the model '${model}' does not accept file ids. Send the image itself, or an image_url.`,
      { param: "images" },
    );
  }
}

/** Throws where the file exceeds the target's limit. Another target may accept more. */
export function checkBytes(
  { field, size }: FilePart,
  { maxBytes = Infinity }: EditCapabilities,
): void {
  if (size <= maxBytes) return;
  throw new GatewayError(
    "request_too_large",
    `The file '${field}' is larger than the ${maxBytes} bytes that this model accepts.`,
    { param: field, notSent: true, overrides: { retry: "elsewhere", clientShouldNotRetry: true } },
  );
}

const isLink = (source: ImageSource): boolean =>
  source.kind === "url" && !source.url.startsWith("data:");

const unsupportedParameter = (param: string, reason: string): GatewayError =>
  new GatewayError("unknown_parameter", `Unknown parameter: '${param}'. ${reason}. Omit it.`, {
    param,
  });
