/** Triton: https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/protocol/README.html. */
import type { Target } from "../../server/upstream/contract.ts";
import { bodyAt, targetOf, textsIn } from "./bearer-case.ts";
import { refusalsOf, type VendorCase } from "./vendor-case.ts";
import { expectOnly, writeFloats } from "./written.ts";

const root = "http://triton.internal:8000";

interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly datatype: string;
  readonly data: readonly unknown[];
}

const understand: VendorCase["understand"] = (request, { model, upstream }) => {
  const body = bodyAt(request, `${root}/v2/models/${model}/infer`);
  expectOnly(body, ["id", "inputs", "outputs", "parameters"]);
  const [tensor, ...others] = body.inputs as readonly Tensor[];
  if (!tensor || others.length > 0) throw new Error("one input was expected");
  const { column = false, input = "input_text" } = upstream.options;
  if (tensor.name !== input || tensor.datatype !== "BYTES") throw new Error("no such input");
  const shape = column ? [tensor.data.length, 1] : [tensor.data.length];
  if (JSON.stringify(tensor.shape) !== JSON.stringify(shape)) throw new Error("wrong shape");
  return { input: textsIn(tensor.data), encoding: "float" };
};

const errorBody = (error: string): string => JSON.stringify({ error });

const caseOf = (name: string, options: Target["upstream"]["options"]): VendorCase => {
  const target = targetOf("triton", "embedder", { baseUrl: root, options });
  return {
    name,
    target,
    understand,
    response: (vectors) => {
      const shape = [vectors.length, vectors[0]?.length ?? 0];
      const data = vectors.map((vector) => writeFloats(vector).slice(1, -1)).join(",");
      const tensor = `{"name":"vec","datatype":"FP32","shape":${JSON.stringify(shape)},"data":[${data}]}`;
      return {
        body: `{"model_name":"${target.model}","model_version":"1","outputs":[${tensor}]}`,
      };
    },
    tellsUsage: false,
    refusals: refusalsOf([
      [
        "model_not_found",
        400,
        errorBody(`Request for unknown model: '${target.model}' is not found`),
      ],
      [
        "upstream_rejected",
        400,
        errorBody(
          `[request id: <id_unknown>] inference request batch-size must be <= 8 for '${target.model}'`,
        ),
      ],
      ["upstream_rejected", 400, errorBody("unexpected inference input 'input_text' for model")],
      ["upstream_error", 500, errorBody("CUDA error")],
      ["upstream_overloaded", 503, errorBody("Exceeds maximum queue size")],
    ]),
  };
};

export const tritonCases: readonly VendorCase[] = [
  caseOf("triton", {}),
  caseOf("triton, a model that batches", { column: true, input: "TEXT", output: "vec" }),
];
