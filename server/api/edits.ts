/** POST /v1/images/edits, image edits: a multipart form with files, or JSON with image references. */
import { z } from "zod";
import { bodyWithoutNulls, validate } from "../http/read-body.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { outOfRange } from "../lib/out-of-range.ts";
import { imageUrlPattern } from "../lib/url-scheme.ts";
import type { Endpoint, NameModel, ParsedRequest } from "../pipeline/endpoint.ts";
import type { Form, IncomingRequest } from "../request/http-types.ts";
import type {
  EditQuery,
  ExtraFields,
  FilePart,
  ImageResponse,
  ImageSource,
} from "../upstream/contract.ts";
import {
  booleanFields,
  fieldsWithModel,
  integerFields,
  metadata,
  sharedFields,
  toQuery,
} from "./generations.ts";
import { writeImages } from "./image-response.ts";

/** 20 MiB of base64, as OpenAI allows. */
const maxUrlLength = 20 * 1024 * 1024;
/** As `max`, which would count the code points of a longer text one by one. */
const isShortUrl = z.check<string>(({ value, issues }) => {
  if (value.length <= maxUrlLength) return;
  const [code, origin, maximum] = ["too_big", "string", maxUrlLength] as const;
  issues.push({ code, origin, maximum, inclusive: true, input: value });
});
const imageReference = z
  .strictObject({
    image_url: z
      .string()
      .check(isShortUrl)
      .meta({ maxLength: maxUrlLength })
      .regex(imageUrlPattern, "must be an https:, http: or data:image/ URL")
      .optional(),
    file_id: z.string().min(1).optional(),
  })
  .refine(
    ({ image_url, file_id }) => (image_url === undefined) !== (file_id === undefined),
    "give exactly one of image_url and file_id",
  );

const maxEditImages = 16;

const referenceFields = {
  images: z.array(imageReference).min(1).max(maxEditImages).describe("The images to edit."),
  mask: imageReference
    .optional()
    .describe("Its transparent pixels mark where the first image is edited."),
  markup: imageReference
    .optional()
    .describe(
      "A transparent PNG of the size of the first image, with drawings that guide the edit. Not with mask.",
    ),
};

export const editsBody = z.looseObject({ ...sharedFields, ...referenceFields, metadata });
const bodyWithModel = z.looseObject({ ...fieldsWithModel, ...referenceFields });

/** The text fields of a form; its files are validated separately. */
export const editsForm = z.looseObject(sharedFields);
const formWithModel = z.looseObject(fieldsWithModel);

/** Replaces the ids of stored files by the files themselves. Rejects with GatewayError. */
export type ResolveFileIds = (query: EditQuery, keyId: string) => Promise<EditQuery>;

/** `resolveFileIds`: absent if the gateway stores no files. */
export const createEditsEndpoint = (
  resolveFileIds: ResolveFileIds | undefined,
): Endpoint<EditQuery, ImageResponse> => ({
  operation: "edits",
  kind: "image",
  read: async (incoming, keyId, nameModel) => {
    if (isForm(incoming)) return readForm(await incoming.form(keyId), nameModel);
    checkJson(incoming);
    const query = parseEdit(await incoming.jsonWithImages(keyId), nameModel);
    return { query: hasFileIds(query) ? ((await resolveFileIds?.(query, keyId)) ?? query) : query };
  },
  withClientFieldNames: (error, incoming) => (isForm(incoming) ? error : withJsonParam(error)),
  write: (response, query, context) =>
    writeImages(response, { ...context(), family: "image_edit", query }),
});

const hasFileIds = ({ images, mask, markup }: EditQuery): boolean =>
  [...images, mask, markup].some((source) => source?.kind === "file_id");

const isForm = ({ headers }: IncomingRequest): boolean =>
  /^multipart\/form-data\b/i.test(headers.get("content-type") ?? "");

/** An upstream gets a form, so its errors name the parameter `image`. In JSON it is `images`. */
function withJsonParam(error: GatewayError): GatewayError {
  const { param } = error.details;
  if (param === undefined || !/^image(\[|$)/.test(param)) return error;
  const details = { ...error.details, param: param.replace("image", "images") };
  const renamed = new GatewayError(error.kind, error.message, details);
  if (error.stack !== undefined) renamed.stack = error.stack;
  return renamed;
}

/** Checked here, because only this endpoint accepts two content types. */
function checkJson({ headers }: IncomingRequest): void {
  const type = headers.get("content-type");
  if (type === null || /^application\/[\w.+-]*json\b/i.test(type)) return;
  throw new GatewayError(
    "unsupported_content_type",
    `Unsupported content type: '${type.slice(0, 100)}'. This path accepts 'multipart/form-data' and 'application/json' requests. Please try again with a supported content type.`,
  );
}

/** Throws GatewayError for a value that no model supports. */
export function parseEdit(value: unknown, nameModel: NameModel): EditQuery {
  const body = bodyWithoutNulls(value);
  const model = nameModel(body.model);
  if (body.images === undefined && body.image !== undefined) {
    throw new GatewayError(
      "missing_parameter",
      'Missing required parameter: \'images\'. In JSON, send "images": [{"image_url": "..."}]; \'image\' is the parameter of a multipart form.',
      { param: "images" },
    );
  }
  // Checked before the schema, which validates every entry before it counts them.
  if (Array.isArray(body.images) && body.images.length > maxEditImages) {
    throw outOfRange("images", "array", { maximum: maxEditImages }, body.images);
  }
  const { images, mask, markup, ...fields } = validate(bodyWithModel, {
    ...body,
    model,
    ...(Array.isArray(body.images) && { images: body.images.map(withoutNullMembers) }),
    mask: presentReference(body.mask),
    markup: presentReference(body.markup),
  });
  return {
    ...toQuery(fields),
    images: images.map(toSource),
    ...(mask && { mask: toSource(mask) }),
    ...(markup && { markup: toSource(markup) }),
    files: [],
  };
}

/** A null member of a reference counts as absent too. The schema refuses a reference that is not an object. */
const withoutNullMembers = (reference: unknown): unknown =>
  typeof reference === "object" && reference !== null && !Array.isArray(reference)
    ? bodyWithoutNulls(reference)
    : reference;

/** A reference whose members are all null counts as absent. The schema refuses `{}`. */
function presentReference(reference: unknown): unknown {
  const given = withoutNullMembers(reference);
  const hadNullMembers = given !== reference;
  return hadNullMembers && Object.keys(given as object).length === 0 ? undefined : given;
}

const toSource = ({ image_url, file_id }: z.output<typeof imageReference>): ImageSource =>
  image_url === undefined
    ? { kind: "file_id", id: file_id as string }
    : { kind: "url", url: image_url };

async function readForm(form: Form, nameModel: NameModel): Promise<ParsedRequest<EditQuery>> {
  try {
    const fields = fieldsToObject(form);
    // Named before the files are checked, so that the ledger has the model of a form with invalid files.
    const named = fields.model === undefined ? undefined : nameModel(fields.model);
    const files = form.files.map((file) => ({ role: roleOf(file.field), file }));
    for (const { file } of files) checkImageFile(file);
    const images = files.filter(({ role }) => role.name === "image");
    const masks = files.filter(({ role }) => role.name === "mask");
    const markups = files.filter(({ role }) => role.name === "markup");
    if (images.length === 0) throw missingImage();
    if (images.length > maxEditImages) {
      throw outOfRange("image", "array", { maximum: maxEditImages }, images);
    }
    if (masks.length > 1) throw duplicateParameter("mask");
    if (markups.length > 1) throw duplicateParameter("markup");
    const query = toQuery(
      validate(formWithModel, { ...fields, model: named ?? nameModel(undefined) }),
    );
    const [mask] = masks;
    const [markup] = markups;
    return {
      query: {
        ...query,
        images: images
          .toSorted((a, b) => a.role.index - b.role.index)
          .map(({ file }) => ({ kind: "file", file })),
        ...(mask && { mask: { kind: "file", file: mask.file } }),
        ...(markup && { markup: { kind: "file", file: markup.file } }),
        files: files.filter(({ role }) => role.name === "other").map(({ file }) => file),
      },
      dispose: () => form.dispose(),
    };
  } catch (error) {
    await form.dispose();
    throw error;
  }
}

type FileRole = "image" | "mask" | "markup";

/**
 * `image`, repeated `image`, `image[]` and `image[0]` all name an image; only the last has an index. Clients spell
 * `markup` in the same ways.
 */
function roleOf(field: string): { name: FileRole | "other"; index: number } {
  const [, name, index] = /^(image|markup)(?:\[(\d{0,4})\])?$/.exec(field) ?? [];
  if (name) return { name: name as FileRole, index: Number(index ?? 0) };
  return { name: field === "mask" ? "mask" : "other", index: 0 };
}

function fieldsToObject({ fields }: Form): Record<string, unknown> {
  const body = new Map<string, unknown>();
  for (const { name, value } of fields) {
    const { name: role } = roleOf(name);
    if (role !== "other") {
      // A part without a file name and type is parsed as text. An empty one is a file field that was left empty.
      if (value === "") continue;
      throw notAFile(role);
    }
    if (isSvgField(name)) body.set("svg", withSvgField(body.get("svg"), name, value));
    else addTextField(body, name, value);
  }
  return Object.fromEntries(body);
}

function addTextField(body: Map<string, unknown>, name: string, value: string): void {
  const known = Object.hasOwn(sharedFields, name);
  if (body.has(name) && known) throw duplicateParameter(name);
  // HTML forms send an empty text field for a value that was not given.
  if (value === "" && known && name !== "prompt") return;
  const earlier = body.get(name);
  const typed = parseFormValue(name, value);
  body.set(name, earlier === undefined ? typed : [earlier, typed].flat());
}

/** openai-python 3.51.0: "Use multipart fields such as `svg[model]`"; it sends `svg[reasoning][effort]` too. */
const isSvgField = (name: string): boolean => /^svg(\[\w{1,60}\]){1,2}$/.test(name);

/** `svg` with one more field. */
function withSvgField(svg: unknown, field: string, value: string): ExtraFields {
  const [outer = "", inner] = [...field.matchAll(/\[(\w+)\]/g)].map(([, name]) => name);
  const withMember = (fields: unknown = {}, name: string, member: unknown): ExtraFields => {
    if (typeof fields === "string") throw duplicateParameter(field);
    return { ...(fields as ExtraFields), [name]: member };
  };
  const earlier = (svg as ExtraFields | undefined)?.[outer];
  if (inner === undefined && earlier !== undefined) throw duplicateParameter(field);
  return withMember(svg, outer, inner === undefined ? value : withMember(earlier, inner, value));
}

/** Form fields are text. A value that does not look like the field's type stays text, and the schema refuses it. */
function parseFormValue(name: string, text: string): unknown {
  if (!Object.hasOwn(sharedFields, name)) return inferType(text);
  if (integerFields.has(name) && /^-?\d{1,9}$/.test(text)) return Number(text);
  if (booleanFields.has(name) && /^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return text;
}

/** For an unknown field: text that is written as a number becomes a number, for upstreams with JSON requests. */
const inferType = (text: string): unknown =>
  text.length < 16 && String(Number(text)) === text && /\d$/.test(text) ? Number(text) : text;

function checkImageFile({ field, type, size }: FilePart): void {
  const param = field.replace(/\[.*$/, "");
  if (size === 0) {
    throw new GatewayError("invalid_image_file", `Invalid file '${param}': it is empty.`, {
      param,
    });
  }
  if (type === "application/octet-stream") {
    throw new GatewayError(
      "unsupported_file_mimetype",
      `Invalid file '${param}': unsupported mimetype ('${type}'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`,
      { param },
    );
  }
}

const missingImage = (): GatewayError =>
  new GatewayError("missing_parameter", "Missing required parameter: 'image'.", { param: "image" });

const notAFile = (param: FileRole): GatewayError =>
  new GatewayError(
    "invalid_type",
    `Invalid type for '${param}': expected ${param === "image" ? "one of an array of files or file" : "a file"}, but got a string instead. Send it as a file, with a filename and a content-type such as image/png.`,
    { param },
  );

const duplicateParameter = (param: string): GatewayError =>
  new GatewayError(
    "duplicate_parameter",
    `Duplicate parameter: '${param}'. You provided multiple values for this parameter, whereas only one is allowed.`,
    { param },
  );
