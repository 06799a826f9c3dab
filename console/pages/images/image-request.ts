/** What the images playground asks for, and the request to the admin API for it. */

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

const numbers: ReadonlySet<string> = new Set(["n", "partial_images", "output_compression"]);

/** The parameters as the images API expects them. */
export function bodyOf({ model, prompt, options }: ImageParameters): Record<string, unknown> {
  const given = Object.entries(options).filter(([, value]) => value !== "");
  const typed = given.map(([name, value]) => [name, numbers.has(name) ? Number(value) : value]);
  return { model, prompt, ...Object.fromEntries(typed) };
}

export function formOf(request: ImageRequest): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(bodyOf(request))) form.set(name, String(value));
  const name = request.references.length > 1 ? "image[]" : "image";
  for (const [at, image] of request.references.entries())
    form.append(name, image, fileName(at, image));
  if (request.mask) form.set("mask", request.mask, "mask.png");
  return form;
}

const fileName = (at: number, { type }: Blob): string =>
  `image-${at + 1}.${type.split("/").at(-1) ?? "png"}`;
