/**
 * Snowflake's Arctic Embed models. The sizes in Ollama's tags are numbers of parameters, with 16 bits each. Where
 * prices are from: price-sources.ts.
 */
import { benchmark, type KnownEmbedding } from "./known-embedding.ts";

const arctic = (
  size: string,
  dimensions: number,
  also: readonly string[],
  rest: Partial<KnownEmbedding> = {},
): KnownEmbedding => ({
  name: `snowflake-arctic-embed-${size}`,
  also: [`arctic-embed-${size}`, ...also],
  dimensions,
  maxTokens: 512,
  source: `${benchmark}; huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0`,
  ...rest,
});

export const snowflake: readonly KnownEmbedding[] = [
  arctic("xs", 384, ["snowflake-arctic-embed:22m"]),
  arctic("s", 384, ["snowflake-arctic-embed:33m"]),
  arctic("m", 768, ["snowflake-arctic-embed:110m"]),
  arctic("m-long", 768, ["snowflake-arctic-embed:137m"], { maxTokens: 2048 }),
  arctic("l", 1024, ["snowflake-arctic-embed", "snowflake-arctic-embed:335m"]),
  arctic("m-v1.5", 768, [], { matryoshka: [256] }),
  arctic("m-v2.0", 768, [], {
    maxTokens: 8192,
    matryoshka: [256],
    price: { snowflake: 0.07 },
  }),
  arctic("l-v2.0", 1024, ["snowflake-arctic-embed2", "snowflake-arctic-embed2:568m"], {
    maxTokens: 8192,
    matryoshka: [256],
    price: { snowflake: 0.07 },
  }),
];
