/**
 * What the laws and the fakes need to know about one vendor's embeddings: a target, how to read a request that we
 * made, and how the vendor would answer it. Each vendor has its case in a file beside this one.
 */
import type { ErrorKind } from "../../contract/errors.ts";
import type { UpstreamRequest } from "../../server/upstream/adapter.ts";
import type { EmbeddingInput, Target } from "../../server/upstream/contract.ts";

/** A request as the vendor understands it. */
export interface Understood {
  readonly input: EmbeddingInput;
  readonly dimensions?: number;
  /** The vendor's own word. */
  readonly purpose?: string;
  readonly encoding: "float" | "base64";
}

export interface VendorAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface VendorCase {
  /** Unique; the kind, and the family or surface where one kind has several. */
  readonly name: string;
  readonly target: Target;
  /** Throws where the vendor would not understand it: wrong address, wrong header, wrong field. */
  readonly understand: (request: UpstreamRequest) => Understood;
  /** As the vendor answers, with these vectors. `tokens` undefined: it says nothing of usage, where it may. */
  readonly answer: (vectors: readonly Float32Array[], tokens: number | undefined) => VendorAnswer;
  /** Whether the vendor ever tells its usage. */
  readonly tellsUsage: boolean;
  /** How it says no, as recorded or documented, and what that must become. */
  readonly refusals: readonly (VendorAnswer & { readonly fault: ErrorKind })[];
}
