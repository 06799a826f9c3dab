/** NVIDIA's Triton and other servers of the Open Inference Protocol: tensors by name, in and out. */
import { z } from "zod";
import type { EmbeddingsAdapter, Vendor } from "../adapter.ts";
import type { EmbeddingCapabilities, Target, Upstream, Vector } from "../contract.ts";
import { invalidResponse } from "../invalid-response.ts";
import { bearerJsonRequest, bearerRequest } from "./wire/build-request.ts";
import { isCount, listIn, listOf, memberOf } from "./wire/members.ts";
import { textsOf } from "./wire/native-embeddings.ts";
import { nativeErrorReader } from "./wire/native-errors.ts";

interface TritonOptions {
  readonly input?: string;
  readonly output?: string;
  readonly maxItems?: number;
  readonly column?: boolean;
}

const optionsOf = (upstream: Upstream): TritonOptions => upstream.options;

/** 32: the batch size of a model is in its own configuration, which the API does not show. */
const capabilities = ({ upstream }: Target): EmbeddingCapabilities => ({
  maxItems: optionsOf(upstream).maxItems ?? 32,
  base64: false,
  tokens: false,
  taskTypes: "indifferent",
});

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, { upstream, model }) => {
    const { input = "input_text", output, column } = optionsOf(upstream);
    const data = textsOf(query);
    const shape = column ? [data.length, 1] : [data.length];
    const url = `${upstream.baseUrl}/v2/models/${encodeURIComponent(model)}/infer`;
    return bearerJsonRequest(url, upstream, {
      ...query.extraFields,
      inputs: [{ name: input, shape, datatype: "BYTES", data }],
      ...(output !== undefined && { outputs: [{ name: output }] }),
    });
  },
  fromUpstream: async (response, query, { upstream }) => {
    const { output } = optionsOf(upstream);
    const tensors = listIn(await response.jsonWithVectors(), "outputs");
    const tensor = tensors.find((one) => output === undefined || memberOf(one, "name") === output);
    return { vectors: rowsOf(tensor, textsOf(query).length) };
  },
};

/** One row of the tensor for each input. The data is flat, or one list per row. */
function rowsOf(tensor: unknown, rows: number): readonly Vector[] {
  const shape = listIn(tensor, "shape");
  const [first, columns] = [shape[0], shape.at(-1)];
  if (shape.length !== 2 || first !== rows || !isCount(columns) || columns === 0)
    throw invalidResponse("its tensor does not have one row per input");
  const numbers = flat(memberOf(tensor, "data"));
  if (numbers.length !== rows * columns)
    throw invalidResponse("the length of its tensor does not match the shape");
  return Array.from({ length: rows }, (_, row) =>
    numbers.slice(row * columns, (row + 1) * columns),
  );
}

function flat(rows: unknown): Float32Array | readonly number[] {
  if (rows instanceof Float32Array) return rows;
  return listOf(rows).flatMap((row) => (row instanceof Float32Array ? [...row] : row)) as number[];
}

const name = z.string().min(1).max(200);

export const triton: Vendor = {
  kind: {
    name: "triton",
    needs: ["baseUrl"],
    serves: "embedding",
    options: {
      input: name.optional().describe("The name of the model's input tensor."),
      output: name.optional().describe("The name of the model's output tensor."),
      maxItems: z.int().min(1).max(2048).optional().describe("The most inputs in one request."),
      column: z
        .boolean()
        .optional()
        .describe("Whether the input tensor is a column, with one text in each row."),
    },
  },
  adapter: {
    embeddings,
    probe: (upstream) => bearerRequest(`${upstream.baseUrl}/v2/health/ready`, upstream),
    readError: nativeErrorReader({
      classify: ({ status, message }) => {
        if (/\bunknown model\b/i.test(message)) return "no such model";
        return status === 400 && /\bbatch-size must be <= \d/.test(message) && "too many inputs";
      },
    }),
  },
};
