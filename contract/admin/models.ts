/** Models and targets as the console shows them. */
import type { LimitsValue, ModelEntity, Origin } from "./entities.ts";

export interface ShownModel {
  readonly object: "model";
  readonly id: string;
  readonly kind: "embedding" | "image";
  readonly description: string | null;
  readonly owned_by: string;
  readonly origin: Origin;
  readonly dimensions: number | null;
  readonly context_tokens: number | null;
  /** Models with the same vector space give comparable vectors. */
  readonly vector_space: string | null;
  /** One for each different price of its targets. Empty: unknown. */
  readonly prices: readonly ShownPrice[];
  readonly ends_on: string | null;
  readonly limits: LimitsValue | null;
  /** Prompts, inputs, vectors and images of its requests are stored for a time. */
  readonly stores_content: boolean;
  /** Image models: the options that at least one target supports, with their values. */
  readonly options: ImageModelOptions;
  /** Image models: the options and limits of edits. `null`: no target edits images. */
  readonly edits: ShownEdits | null;
  readonly targets: readonly ShownTarget[];
}

/** The parts are added up, such as a price per image and one per million tokens. */
export interface ShownPrice {
  readonly parts: readonly PricePart[];
}

/** US dollars. `from` and `to` differ if the price depends on the request. */
export interface PricePart {
  readonly unit: "million_tokens" | "image" | "megapixel" | "million_output_tokens";
  readonly from: number;
  readonly to: number;
}

/** The API keys that may use a model, of the projects that the user sees. */
export interface ModelAccess {
  readonly object: "model_access";
  readonly model: string;
  /** The number of all such keys, also if `keys` does not list all of them. */
  readonly key_count: number;
  readonly keys: readonly {
    readonly id: string;
    readonly name: string;
    readonly project: string | null;
  }[];
}

/** The values of each option. `true`: any value. */
export type ImageModelOptions = Readonly<Record<string, readonly string[] | true>>;

export interface ShownEdits {
  readonly options: ImageModelOptions;
  /** Reference images of one request. */
  readonly max_images: number;
  /** At least one target edits only the masked area. */
  readonly mask: boolean;
}

/** Requests the estimated cost of an image request. Nothing is sent to an upstream. */
export interface ImageEstimateRequest {
  readonly model: string;
  readonly prompt: string;
  /** As the images API expects them. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The number of reference images. Above 0, the request is an edit. */
  readonly references: number;
  readonly mask: boolean;
}

/** Estimated for the most expensive target, because the target is not selected yet. */
export interface ImageEstimate {
  readonly object: "image_estimate";
  /** The likely cost in US dollars. `null`: no price is known. */
  readonly cost: number | null;
  /** The upper bound in US dollars. */
  readonly max_cost: number | null;
  /** Every target has a known price. */
  readonly is_certain: boolean;
  /** Why the gateway would refuse this request, in place of a price. `null`: it would not. */
  readonly refusal: string | null;
}

/** One model: what it is, and the entity that defines it. */
export interface ModelDetail extends ShownModel {
  readonly definition: ModelEntity;
}

export interface ShownTarget {
  readonly object: "target";
  readonly upstream: string;
  readonly model: string;
  readonly surface: string | null;
  readonly models: readonly string[];
  readonly state: "healthy" | "slow_start" | "cooling" | "ejected";
  readonly reason: string | null;
  readonly until: string | null;
  readonly share: number;
  readonly in_flight: number;
  readonly limit: number;
  readonly error_share: number | null;
  readonly latency: readonly {
    readonly size: number;
    readonly mean_ms: number | null;
    readonly p95_ms: number | null;
  }[];
  readonly counts: Readonly<Record<string, number>>;
  /** The latest errors of its attempts, newest first. */
  readonly last_errors: readonly {
    readonly at: string;
    /** An error kind. */
    readonly error: string;
    readonly message: string;
  }[];
}
