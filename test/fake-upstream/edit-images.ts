/** Reads the images of an edit request: multipart parts as strictly as OpenAI does, or JSON references. */

import { type ImageInfo, sniff } from "./image-info.ts";
import { invalid, missingField, type Refusal, unknownField, wrongType } from "./refusal.ts";
import type { Part } from "./request.ts";

const maxImages = 16;
const maxBytes = 50 * 1024 * 1024;
const maxMaskBytes = 4 * 1024 * 1024;
const maxUrlCharacters = 20_971_520;
const types = ["image/jpeg", "image/png", "image/webp"];
const numbers = ["n", "output_compression", "partial_images"];

interface EditRequest {
  readonly images: number;
  /** The other fields, as JSON would have them. */
  readonly fields: Record<string, unknown>;
}

const duplicate = (field: string): Refusal =>
  invalid(
    `Duplicate parameter: '${field}'. You provided multiple values for this parameter, whereas only one is allowed. If you are trying to provide a list of values, use the array syntax instead e.g. '${field}[]=<value>'.`,
    "duplicate_parameter",
    field,
  );

const undecodable = (field: string): Refusal =>
  invalid(`Invalid image file or mode for '${field}'.`, "invalid_image_file", field); // From memory.

function checkFile(part: Part, field: string): ImageInfo {
  if (part.filename === undefined)
    throw wrongType(field, "one of an array of files or file", "a string");
  const type = part.type ?? "application/octet-stream";
  if (!types.includes(type))
    throw invalid(
      `Invalid file '${field}': unsupported mimetype ('${type}'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`,
      "unsupported_file_mimetype",
      field,
    );
  if (!part.image) throw undecodable(field);
  return part.image;
}

function checkTotal(files: readonly Part[]): void {
  const megabytes = files.reduce((sum, part) => sum + part.size, 0) / 1024 / 1024;
  if (megabytes * 1024 * 1024 > maxBytes)
    throw invalid(
      `Total image size is ${megabytes.toFixed(1)}MB, which exceeds the allowed limit of 50.0MB.`,
      null,
      null,
      413,
    );
}

function checkMask(mask: Part, first: ImageInfo): void {
  const { format, width, height } = checkFile(mask, "mask");
  // All three messages are from memory.
  if (format !== "png") throw invalid("Invalid mask: must be a PNG.", "invalid_image_file", "mask");
  if (mask.size > maxMaskBytes)
    throw invalid("Invalid mask: must be less than 4MB.", "invalid_image_file", "mask");
  if (width !== first.width || height !== first.height)
    throw invalid(
      "Invalid mask image: mask size does not match image size",
      "invalid_image_file",
      "mask",
    );
}

const fromText = (field: string, value: string): unknown => {
  if (numbers.includes(field)) return value.trim() === "" ? value : Number(value);
  if (field === "stream" && (value === "true" || value === "false")) return value === "true";
  return value;
};

export function readForm(form: readonly Part[]): EditRequest {
  const single = form.filter((part) => part.field === "image");
  const several = form.filter((part) => part.field === "image[]");
  const masks = form.filter((part) => part.field === "mask");
  if (single.length > 1 || (single.length > 0 && several.length > 0)) throw duplicate("image");
  if (masks.length > 1) throw duplicate("mask");
  const images = [...single, ...several];
  if (images.length === 0) throw missingField("image");
  checkCount(images.length, "image");
  const [first] = images.map((part) => checkFile(part, "image"));
  checkTotal(images);
  if (masks[0] && first) checkMask(masks[0], first);

  const fields: Record<string, unknown> = {};
  for (const { field, value } of form) {
    if (["image", "image[]", "mask"].includes(field)) continue;
    if (value === undefined) throw wrongType(field, "a string", "a file");
    if (field in fields) throw duplicate(field);
    fields[field] = fromText(field, value);
  }
  return { images: images.length, fields };
}

function checkCount(count: number, field: string): void {
  if (count > maxImages)
    throw invalid(
      `Invalid '${field}': array too long. Expected an array with maximum length ${maxImages}, but got an array with length ${count} instead.`,
      "array_above_max_length",
      field,
    );
}

function checkReference(reference: unknown, field: string): void {
  if (typeof reference !== "object" || reference === null)
    throw wrongType(field, "an object", "something else");
  for (const key of Object.keys(reference))
    if (key !== "image_url" && key !== "file_id") throw unknownField(`${field}.${key}`);
  const { image_url: url, file_id: file } = reference as Record<string, unknown>;
  if ((url === undefined) === (file === undefined))
    throw invalid(
      `Invalid '${field}': expected exactly one of 'image_url' or 'file_id'.`, // From memory.
      "invalid_value",
      field,
    );
  if (file !== undefined) return;
  if (typeof url !== "string") throw wrongType(`${field}.image_url`, "a string", "something else");
  if (url.length > maxUrlCharacters)
    throw invalid(
      `Invalid '${field}.image_url': string too long. Expected a string with maximum length ${maxUrlCharacters}, but got a string with length ${url.length} instead.`,
      "string_above_max_length",
      `${field}.image_url`,
    );
  if (/^https?:\/\//.test(url)) return;
  const [, type, base64] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  if (!type || !types.includes(type) || !sniff(Buffer.from(base64 ?? "", "base64")))
    throw undecodable(`${field}.image_url`);
}

export function readReferences(body: Record<string, unknown>): EditRequest {
  const { images, mask, ...fields } = body;
  if (images === undefined) throw missingField("images");
  if (!Array.isArray(images) || images.length === 0)
    throw wrongType("images", "an array with at least one image", "something else");
  checkCount(images.length, "images");
  images.forEach((reference, i) => {
    checkReference(reference, `images[${i}]`);
  });
  if (mask !== undefined && mask !== null) checkReference(mask, "mask");
  return { images: images.length, fields };
}
