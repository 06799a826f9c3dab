/**
 * Plans single options of an image request: size, `output_compression`, frames, streaming, partial images, `user` or
 * `safety_identifier`, and source images. Each is sent, emulated, dropped or refused.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { outOfRange } from "../../lib/out-of-range.ts";
import { quotedList } from "../../lib/quoted-list.ts";
import { isDataUrl } from "../../lib/url-scheme.ts";
import type { EditQuery, FilePart, ImageSource } from "../../upstream/contract.ts";
import { editSources, imagesField } from "../../upstream/edit-sources.ts";
import type {
  EditCapabilities,
  ImageCapabilities,
  Sizes,
} from "../../upstream/image-capabilities.ts";
import {
  describeSizes,
  nearestRatio,
  parseSize,
  sizeRuleViolation,
} from "../../upstream/image-sizes.ts";
import { type Draft, unsupportedOption } from "./image-plan.ts";

/** Must be called after all other options are planned. */
export function planCompression(
  draft: Draft,
  level: number,
  { takes, compresses }: ImageCapabilities,
): void {
  const { options, postProcessing, policy, dropped } = draft;
  const { output_format: requestedFormat } = options;
  const isSupported = takes.output_compression !== undefined;
  const supportsFormat =
    compresses === undefined ||
    (requestedFormat !== undefined && compresses.includes(requestedFormat));
  if (isSupported && supportsFormat) return;
  delete options.output_compression;
  // 100 is the default, so it is omitted.
  if (level === 100) return;
  if (policy === "strict" && !isSupported) throw unsupportedOption(draft, "output_compression");
  const format = requestedFormat ?? postProcessing.format;
  if (format === "jpeg" || format === "webp") {
    // Two lossy compressions are worse than one: the target generates its best quality, and the gateway compresses.
    delete options.output_format;
    postProcessing.format = format;
    postProcessing.compression = level;
  } else if (policy === "drop") {
    dropped.push("output_compression");
  } else {
    throw uncompressible(format);
  }
}

/** `format`: the format of the response. Undefined if the client named none, or one that is not available. */
const uncompressible = (format: string | undefined): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Compression less than 100 is not supported ${format === undefined ? "without an output_format" : `for ${format} output`}. Set output_format to 'jpeg' or 'webp', or omit output_compression.`,
    { param: "output_compression" },
  );

/** Plans the frames of an animation for a target that supports them only with the formats `animates`. */
export function planFrames(draft: Draft, animates: readonly string[]): void {
  const { options, policy, dropped } = draft;
  if (options.output_format !== undefined && animates.includes(options.output_format)) return;
  for (const name of ["frame_count", "frame_duration_ms"] as const) {
    if (options[name] === undefined) continue;
    if (policy !== "drop") {
      throw new GatewayError(
        "invalid_value",
        `'${name}' is only for output_format ${quotedList(animates)}. Set output_format, or omit ${name}.`,
        { param: name },
      );
    }
    delete options[name];
    dropped.push(name);
  }
}

/** For a response that is not streamed, and a target whose API is not OpenAI's: an OpenAI-compatible API decides. */
export function planPartialImages(draft: Draft): void {
  const { options, policy, dropped } = draft;
  const { partial_images } = options;
  delete options.partial_images;
  if (partial_images === undefined || partial_images === 0) return;
  if (policy === "strict") {
    throw new GatewayError(
      "invalid_value",
      "Partial images are only for streams. Omit partial_images, or set stream to true.",
      { param: "partial_images" },
    );
  }
  dropped.push("partial_images");
}

/** For a stream that the gateway makes from a whole image: the API allows fewer partial images, and none. */
function planUnstreamed({ options, adapted }: Draft): void {
  const { partial_images = 0 } = options;
  delete options.partial_images;
  if (partial_images > 0) adapted.push("partial_images");
}

/**
 * Plans the size: the requested size where the target takes sizes, the nearest aspect ratio where it takes only
 * ratios.
 */
export function planSize(draft: Draft, requested: string, sizes: Sizes): void {
  if (sizes === "any" || isListed(requested, sizes)) return;
  if (requested === "auto") {
    delete draft.options.size;
    return;
  }
  // The client may send an aspect ratio as the size.
  if ("ratios" in sizes && sizes.ratios.includes(requested)) {
    draft.shape = { aspectRatio: requested };
    delete draft.options.size;
    return;
  }
  const size = parseSize(requested);
  const violation = size && "rule" in sizes ? sizeRuleViolation(size, sizes.rule) : undefined;
  if (size && "rule" in sizes && violation === undefined) return;
  if (size && "ratios" in sizes && draft.policy !== "strict") {
    draft.shape = { aspectRatio: nearestRatio(size, sizes.ratios), requestedSize: requested };
    draft.adapted.push("size");
  } else if (draft.policy === "drop") {
    draft.dropped.push("size");
  } else {
    throw unsupportedSize(requested, sizes, violation);
  }
  delete draft.options.size;
}

function isListed(requested: string, sizes: Exclude<Sizes, "any">): boolean {
  if ("list" in sizes) return sizes.list.includes(requested);
  return "rule" in sizes && sizes.names?.includes(requested) === true;
}

/** As OpenAI has it: models with a list of sizes have a message that lists them, from which programs choose another. */
function unsupportedSize(
  requested: string,
  sizes: Exclude<Sizes, "any">,
  violation: string | undefined,
): GatewayError {
  const given = requested.slice(0, 100);
  const param = "size";
  if ("list" in sizes) {
    const supported = quotedList([...sizes.list, "auto"]);
    return new GatewayError(
      "invalid_value",
      `Invalid value: '${given}'. Supported values are: ${supported}.`,
      { param },
    );
  }
  const reason = violation === undefined ? "" : `${violation} `;
  return new GatewayError(
    "invalid_size",
    `Invalid size '${given}'. ${reason}${describeSizes(sizes)}`,
    { param },
  );
}

/** Plans streaming: emulates it for targets that do not stream, and replaces URLs, which a stream cannot contain. */
export function planStream(draft: Draft, streams: boolean): void {
  const { policy, adapted, postProcessing } = draft;
  if (!streams) {
    if (policy === "strict") throw unsupportedOption(draft, "stream");
    adapted.push("stream");
    planUnstreamed(draft);
  }
  // OpenAI's stream events have no field for a URL.
  if (postProcessing.deliverAs !== "url") return;
  if (policy === "strict") {
    throw new GatewayError(
      "invalid_value",
      "Stream events contain images as base64, not as URLs. Omit response_format, or set stream to false.",
      { param: "response_format" },
    );
  }
  adapted.push("response_format");
}

/**
 * Plans the end-user identifier for a target that limits its length: the adapter shortens or pads it, and the response
 * reports that.
 */
export function planUser(
  { options, policy, adapted, dropped }: Draft,
  userLength: NonNullable<ImageCapabilities["userLength"]>,
): void {
  const { safety_identifier, user } = options;
  const name = safety_identifier === undefined ? "user" : "safety_identifier";
  // The target supports only one of `user` and `safety_identifier`.
  if (safety_identifier !== undefined && user !== undefined) {
    if (policy === "strict") throw bothUserFields();
    delete options.user;
    dropped.push("user");
  }
  const { length } = options[name] ?? { length: userLength.min };
  if (length >= userLength.min && length <= userLength.max) return;
  if (policy !== "strict") adapted.push(name);
  else {
    throw new GatewayError(
      "invalid_value",
      `Invalid '${name}': expected ${userLength.min} to ${userLength.max} characters for this model, but got ${length}.`,
      { param: name },
    );
  }
}

const bothUserFields = (): GatewayError =>
  new GatewayError(
    "invalid_value",
    "Invalid 'user': this model accepts either 'user' or 'safety_identifier'. Omit 'user'.",
    { param: "user" },
  );

/** Throws GatewayError if the target does not support the source images. */
export function checkSources(
  query: EditQuery,
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
  const { images, markup } = query;
  if (images.length > edits.maxImages) {
    throw outOfRange(imagesField(query), "array", { maximum: edits.maxImages }, images);
  }
  checkRoles(query, edits, model);
  const sources = editSources(query);
  // A mask that is too large is re-encoded, and its size is checked then.
  for (const source of markup ? [...images, markup] : images)
    if (source.kind === "file") checkBytes(source.file, edits);
  if (edits.linksOnly && sources.some((source) => !isLink(source))) {
    const param = imagesField(query);
    throw new GatewayError(
      "invalid_value",
      `Invalid '${param}': the model '${model}' downloads images from URLs and does not accept files. Send images: [{"image_url": "https://..."}].`,
      { param },
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

/** Throws if the target does not support a mask, markup or another file that the request has. */
function checkRoles(
  { mask, markup, files }: EditQuery,
  edits: EditCapabilities,
  model: string,
): void {
  if (mask && !edits.mask)
    throw unsupportedParameter("mask", `The model '${model}' does not accept a mask`);
  if (markup && !edits.markup)
    throw unsupportedParameter("markup", `The model '${model}' does not accept markup`);
  const [extra] = edits.files ? [] : files;
  if (extra)
    throw unsupportedParameter(extra.field, `The model '${model}' does not accept this file`);
}

/** Throws if the file exceeds the target's limit. Another target may accept more. */
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

const isLink = (source: ImageSource): boolean => source.kind === "url" && !isDataUrl(source.url);

const unsupportedParameter = (param: string, reason: string): GatewayError =>
  new GatewayError("unknown_parameter", `Unknown parameter: '${param}'. ${reason}. Omit it.`, {
    param,
  });
