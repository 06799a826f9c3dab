/** A gateway with two projects, and the official SDK as the client of each. */
import OpenAI, { toFile } from "openai";
import { configFor, type GatewayOptions, startGateway, type TestGateway } from "../harness.ts";

const keys = {
  first: "sk-first-0123456789abcdef",
  mate: "sk-mate-0123456789abcdef",
  other: "sk-other-0123456789abcdef",
  alone: "sk-alone-0123456789abcdef",
};

interface TwoProjects {
  readonly gateway: TestGateway;
  /** Two keys of one project. */
  readonly first: OpenAI;
  readonly mate: OpenAI;
  /** A key of another project, and a key without a project. */
  readonly other: OpenAI;
  readonly alone: OpenAI;
}

export const keyOf = (name: keyof typeof keys): string => keys[name];

export function startTwoProjects(
  options: Partial<GatewayOptions> = {},
  upstream = "http://127.0.0.1:9",
): TwoProjects {
  const yaml = `${configFor(upstream)}
  - { name: first, key: ${keys.first}, project: one }
  - { name: mate, key: ${keys.mate}, project: one }
  - { name: other, key: ${keys.other}, project: two }
  - { name: alone, key: ${keys.alone} }
projects:
  - { name: one }
  - { name: two }
`;
  const gateway = startGateway({ yaml, ...options });
  const client = (name: keyof typeof keys): OpenAI =>
    new OpenAI({ baseURL: gateway.baseURL, apiKey: keys[name], maxRetries: 0 });
  return {
    gateway,
    first: client("first"),
    mate: client("mate"),
    other: client("other"),
    alone: client("alone"),
  };
}

export const textFile = (text: string, name = "lines.jsonl") => toFile(Buffer.from(text), name);
