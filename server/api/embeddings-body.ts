/** The body of an embeddings request: one schema validates requests, and is printed in the OpenAPI document. */
import { z } from "zod";
import { parse } from "../http/validate-body.ts";
import type { EmbeddingsQuery, ExtraFields } from "../upstream/contract.ts";
import { inputField } from "./embedding-input.ts";
import { extractTaskType } from "./task-type-fields.ts";

const modelId = z
  .string()
  .min(1)
  .describe("The public ID of an embedding model. Default: the default model of the API key.");

const fieldsWithoutModel = (maxInputs: number) => ({
  input: inputField(maxInputs),
  encoding_format: z.enum(["float", "base64"]).optional().describe("Default: float."),
  dimensions: z
    .int()
    .min(1)
    .optional()
    .describe("The length of the vectors, if the model supports it."),
  user: z.string().optional(),
});

export interface EmbeddingsBody {
  /** As a client sends it. */
  readonly schema: z.ZodType;
  /** The same on the older route, which has the model in its path. */
  readonly engineSchema: z.ZodType;
  /** `body` has no null members, and its model. Throws GatewayError. */
  read(body: Readonly<Record<string, unknown>>): EmbeddingsQuery;
}

export function embeddingsBody(maxInputs: number): EmbeddingsBody {
  const fields = fieldsWithoutModel(maxInputs);
  // The other fields are passed on unchecked. A loose object would copy them at several times the cost of this one.
  const knownFields = z.object({ model: modelId, ...fields });
  return {
    schema: z.looseObject({ model: modelId.optional(), ...fields }),
    engineSchema: z.looseObject(fields),
    read: (body) => toQuery(parse(knownFields, body), extraFieldsOf(body, knownFields.shape)),
  };
}

type ParsedBody = z.output<
  z.ZodObject<{ model: typeof modelId } & ReturnType<typeof fieldsWithoutModel>>
>;

const noExtraFields: ExtraFields = Object.freeze({});

function extraFieldsOf(
  body: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, z.ZodType>>,
): ExtraFields {
  const isExtra = (name: string): boolean => !Object.hasOwn(known, name);
  if (!Object.keys(body).some(isExtra)) return noExtraFields;
  return Object.fromEntries(Object.entries(body).filter(([name]) => isExtra(name)));
}

function toQuery(known: ParsedBody, extraFields: ExtraFields): EmbeddingsQuery {
  const { model, encoding_format: encoding = "float", dimensions, user } = known;
  const { input, single } = known.input;
  const query = { model, input, single, encoding, extraFields };
  const isPlain = dimensions === undefined && user === undefined && extraFields === noExtraFields;
  if (isPlain) return query;
  return {
    ...query,
    ...(dimensions !== undefined && { dimensions }),
    ...(user !== undefined && { user }),
    ...extractTaskType(extraFields),
  };
}
