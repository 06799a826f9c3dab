/**
 * The type of the numbers in a response: `output_dtype`, as Voyage and Mistral call it, or a field of another vendor
 * with the same values.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { ExtraFields, OutputType, QuantizedType } from "../upstream/contract.ts";

export const quantizedTypes = ["int8", "uint8", "binary", "ubinary"] as const;

/** The fields besides `encoding_format`. */
export const outputTypeFields = ["output_dtype", "embedding_type", "embedding_types"] as const;

type OutputWord = QuantizedType | "float";

const words: ReadonlySet<unknown> = new Set<OutputWord>(["float", ...quantizedTypes]);

interface Requested {
  readonly type: OutputWord;
  readonly field: string;
}

/**
 * Takes the fields with one of the five values out of the extra fields. Other values stay there, and are passed on or
 * refused. `encodingFormat`: float and base64 are encodings of float32 there, which SDKs send by themselves, so they
 * contradict no type.
 */
export function extractOutputType(
  extraFields: ExtraFields,
  encodingFormat: QuantizedType | undefined,
): { readonly outputType?: OutputType; readonly extraFields: ExtraFields } {
  const given = outputTypeFields.flatMap((field) => requestedIn(extraFields, field));
  const all: readonly Requested[] = encodingFormat
    ? [...given, { type: encodingFormat, field: "encoding_format" }]
    : given;
  const [first] = all;
  if (!first) return { extraFields };
  const other = all.find(({ type }) => type !== first.type);
  if (other) throw contradiction(first, other);
  const { type, field } = first;
  const others = Object.entries(extraFields).filter(
    ([name]) => !all.some((one) => one.field === name),
  );
  return {
    ...(type !== "float" && { outputType: { type, field } }),
    extraFields: Object.fromEntries(others),
  };
}

/** Some vendors take a list of types: with one entry, it is that type. */
function requestedIn(extraFields: ExtraFields, field: string): Requested[] {
  const value = extraFields[field];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.length === 1 && words.has(list[0]) ? [{ type: list[0] as OutputWord, field }] : [];
}

const contradiction = (first: Requested, other: Requested): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Invalid value: '${other.field}' is '${other.type}', and '${first.field}' is '${first.type}'. A response has vectors of one type: send only one of the two.`,
    { param: other.field },
  );
