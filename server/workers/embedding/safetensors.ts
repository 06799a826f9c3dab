/** Reads model weights from a safetensors file: a JSON header, then the tensors' bytes. */
import { z } from "zod";

const entry = z.object({
  dtype: z.string(),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});
const header = z.record(z.string(), z.union([entry, z.record(z.string(), z.string())]));

export interface Tensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** A view into the file, not a copy. */
  readonly bytes: Uint8Array;
}

/** Throws if the file is not a safetensors file, or has no tensor of that name. */
export function readSafetensors(file: Uint8Array): (name: string) => Tensor {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const length = Number(view.getBigUint64(0, true));
  if (length > file.length - 8) throw new Error("the safetensors header is truncated");
  const start = 8 + length;
  const table = header.parse(JSON.parse(new TextDecoder().decode(file.subarray(8, start))));
  return (name) => {
    const found = entry.safeParse(table[name]);
    if (!found.success) throw new Error(`the weights have no tensor named ${name}`);
    const { dtype, shape, data_offsets } = found.data;
    const [from, to] = data_offsets;
    if (to < from || start + to > file.length) throw new Error(`the tensor ${name} is truncated`);
    return { dtype, shape, bytes: file.subarray(start + from, start + to) };
  };
}
