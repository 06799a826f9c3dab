/** Reads the directory of a sentence-embedding model: its files, its settings and its problems. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

export interface ModelDirectory {
  readonly onnx: string;
  readonly tokenizer: string;
  /** Of tokenizer_config.json. */
  readonly tokenizerConfig: object;
  /** The default is mean, or none where the model has a sentence output. */
  readonly pooling?: "mean" | "cls";
  readonly normalize: boolean;
  readonly lowercase: boolean;
  readonly maxTokens: number;
  /** A layer after pooling that is not applied unless it is in the ONNX file. */
  readonly unsupported?: string;
}

const onnxFiles = [
  "model.onnx",
  "onnx/model.onnx",
  "model_quantized.onnx",
  "onnx/model_quantized.onnx",
];

const modulesFile = z.array(z.object({ type: z.string() }));
const sentenceFile = z.object({
  max_seq_length: z.int().min(1).nullish(),
  do_lower_case: z.boolean().nullish(),
});
const modelFile = z.object({
  model_type: z.string().nullish(),
  max_position_embeddings: z.int().min(1).nullish(),
});
// "No limit" is written as 1e30.
const tokenizerFile = z.looseObject({ model_max_length: z.number().min(1).nullish() });
const poolingFile = z.record(z.string(), z.unknown());

/** RoBERTa and related models count positions from 2. */
const countsFromTwo = /roberta|camembert|mpnet/;

/** Checks a directory without loading the weights. Returns problems as messages; none where the model is usable. */
export function inspectModelDirectory(path: string): string[] {
  return read(path).problems;
}

/** Throws the problems as one Error. */
export function readModelDirectory(path: string): ModelDirectory {
  const { directory, problems } = read(path);
  if (problems.length > 0) throw new Error(problems.join(" "));
  return directory;
}

function read(path: string): { directory: ModelDirectory; problems: string[] } {
  const problems = missingFiles(path);
  const json = <T>(name: string, schema: z.ZodType<T>, absent: T): T => {
    const file = join(path, name);
    if (!existsSync(file)) return absent;
    try {
      return schema.parse(JSON.parse(readFileSync(file, "utf8")));
    } catch (error) {
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
      problems.push(`${file} cannot be read: ${reason}.`);
      return absent;
    }
  };
  const modules = json("modules.json", modulesFile.nullable(), null);
  const sentence = json("sentence_bert_config.json", sentenceFile, {});
  const model = json("config.json", modelFile, {});
  const tokenizerConfig = json("tokenizer_config.json", tokenizerFile, {});
  const pooling = choosePooling(json("1_Pooling/config.json", poolingFile, {}));
  if (pooling === "other") {
    problems.push(
      `${join(path, "1_Pooling/config.json")} requires a pooling other than mean or cls.`,
    );
  }
  const moduleNames = modules?.map(({ type }) => type.split(".").at(-1) ?? type) ?? [];
  const unsupported = moduleNames.find(
    (name) => !["Transformer", "Pooling", "Normalize"].includes(name),
  );

  const positions = model.max_position_embeddings ?? Number.POSITIVE_INFINITY;
  const usable = countsFromTwo.test(model.model_type ?? "") ? positions - 2 : positions;
  const declared = sentence.max_seq_length ?? tokenizerConfig.model_max_length ?? usable;
  const limit = Math.min(declared, usable);
  return {
    problems,
    directory: {
      onnx: findOnnx(path) ?? "",
      tokenizer: join(path, "tokenizer.json"),
      tokenizerConfig,
      ...(pooling !== undefined && pooling !== "other" && { pooling }),
      // Clients of OpenAI's API expect vectors of length 1, so only a modules.json can disable normalization.
      normalize: modules === null || moduleNames.includes("Normalize"),
      lowercase: sentence.do_lower_case === true,
      maxTokens: limit > 1_000_000 ? 512 : limit,
      ...(unsupported !== undefined && { unsupported }),
    },
  };
}

function missingFiles(path: string): string[] {
  if (!existsSync(path) || !statSync(path).isDirectory()) return [`${path} is not a directory.`];
  const problems: string[] = [];
  if (!existsSync(join(path, "tokenizer.json"))) problems.push(`${path} has no tokenizer.json.`);
  if (!findOnnx(path)) {
    problems.push(
      `${path} has no model.onnx or onnx/model.onnx, and not exactly one other .onnx file.`,
    );
  }
  return problems;
}

function findOnnx(path: string): string | undefined {
  const usualFile = onnxFiles.map((name) => join(path, name)).find((file) => existsSync(file));
  if (usualFile || !existsSync(path) || !statSync(path).isDirectory()) return usualFile;
  const others = readdirSync(path).filter((name) => name.endsWith(".onnx"));
  return others.length === 1 && others[0] ? join(path, others[0]) : undefined;
}

/** sentence-transformers writes one flag for each mode. */
function choosePooling(config: Record<string, unknown>): "mean" | "cls" | "other" | undefined {
  if (typeof config.pooling_mode === "string") {
    return config.pooling_mode === "mean" || config.pooling_mode === "cls"
      ? config.pooling_mode
      : "other";
  }
  const on = Object.keys(config).filter(
    (name) => name.startsWith("pooling_mode_") && config[name] === true,
  );
  if (on.length === 0) return undefined;
  if (on.length > 1) return "other";
  if (on[0] === "pooling_mode_mean_tokens") return "mean";
  return on[0] === "pooling_mode_cls_token" ? "cls" : "other";
}
