/** The body of an embeddings request: one schema validates requests, and is printed in the OpenAPI document. */
import { z } from "zod";
import { parse } from "../http/validate-body.ts";
import { isEmptyObject } from "../lib/is-empty-object.ts";
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
  const bodyWithModel = z.looseObject({ model: modelId, ...fields });
  return {
    schema: z.looseObject({ model: modelId.optional(), ...fields }),
    engineSchema: z.looseObject(fields),
    read: (body) => toQuery(parse(bodyWithModel, body)),
  };
}

type ParsedBody = z.output<
  z.ZodObject<{ model: typeof modelId } & ReturnType<typeof fieldsWithoutModel>>
>;

const noExtraFields: ExtraFields = Object.freeze({});

function toQuery({
  model,
  input: { input, single },
  encoding_format: encoding = "float",
  dimensions,
  user,
  ...extraFields
}: ParsedBody): EmbeddingsQuery {
  const query = { model, input, single, encoding, extraFields: noExtraFields };
  if (dimensions === undefined && user === undefined && isEmptyObject(extraFields)) return query;
  return {
    ...query,
    ...(dimensions !== undefined && { dimensions }),
    ...(user !== undefined && { user }),
    ...extractTaskType(extraFields),
  };
}
