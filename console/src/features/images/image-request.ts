/** The parameters of the images playground, and its requests to the admin API. */
import type { ImageEstimateRequest, ShownModel } from "../../../../contract/admin.ts";

export interface ImageParameters {
  readonly model: string;
  readonly prompt: string;
  /** Options of the model, such as `size` and `quality`. An empty value is absent. */
  readonly options: Readonly<Record<string, string>>;
}

export interface ImageRequest extends ImageParameters {
  /** With reference images it is an edit. */
  readonly references: readonly Blob[];
  readonly mask: Blob | undefined;
}

const numbers: ReadonlySet<string> = new Set([
  "n",
  "partial_images",
  "output_compression",
  "frame_count",
  "frame_duration_ms",
]);

/** The options of a model for this request. `undefined`: the model does not edit. */
export const optionsOf = (model: ShownModel, isEdit: boolean) =>
  isEdit ? model.edits?.options : model.options;

/** An option is sent only to models that have it. Partial images need a stream. */
export function supportedOptions(
  model: ShownModel,
  isEdit: boolean,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = optionsOf(model, isEdit) ?? {};
  const given = Object.entries(values).filter(([name, value]) => value !== "" && name in own);
  const { stream: _, ...options } = Object.fromEntries(given);
  return Number(options.partial_images ?? 0) > 0 ? { ...options, stream: "true" } : options;
}

/** The parameters as the images API expects them. */
export function bodyOf({ model, prompt, options }: ImageParameters): Record<string, unknown> {
  const given = Object.entries(options).filter(([, value]) => value !== "");
  return {
    model,
    prompt,
    ...Object.fromEntries(given.map(([name, value]) => [name, typed(name, value)])),
  };
}

/** A value that is not of its type is sent as it is: the gateway says what is wrong with it. */
function typed(name: string, value: string): unknown {
  if (name === "stream") return value === "true";
  if (numbers.has(name)) return Number(value);
  return name === "svg" ? parsedObject(value) : value;
}

function parsedObject(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

export function formOf(request: ImageRequest): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(bodyOf(request)))
    form.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  const name = request.references.length > 1 ? "image[]" : "image";
  for (const [at, image] of request.references.entries())
    form.append(name, image, fileName(at, image));
  if (request.mask) form.set("mask", request.mask, "mask.png");
  return form;
}

export const fileName = (at: number, { type }: Blob): string =>
  `image-${at + 1}.${type.split("/").at(-1) ?? "png"}`;

export function estimateOf(
  { model, prompt, options }: ImageParameters,
  references: number,
  mask: boolean,
): ImageEstimateRequest {
  const { model: _model, prompt: _prompt, ...typedOptions } = bodyOf({ model, prompt, options });
  return { model, prompt, options: typedOptions, references, mask };
}
