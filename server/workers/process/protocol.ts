/** What a gateway and a model's child process say to each other, over Bun's IPC with structured clone. */
import type { FaultName } from "../../../contract/faults.ts";

/** A fault on its way between processes: `GatewayError` itself does not survive the copy. */
export interface SerializedError {
  readonly fault: FaultName;
  readonly message: string;
  readonly param?: string;
}

export type ToChild<Spec, Ask> =
  /** The first message, once. */
  | { readonly type: "load"; readonly spec: Spec }
  | { readonly type: "ask"; readonly id: number; readonly ask: Ask }
  | { readonly type: "cancel"; readonly id: number };

export type ToParent<Part> =
  | { readonly type: "ready"; readonly facts: WorkerMetadata }
  /** The model cannot be had; the process is of no more use. */
  | ({ readonly type: "failed" } & SerializedError)
  | { readonly type: "part"; readonly id: number; readonly part: Part; readonly last: boolean }
  | ({ readonly type: "refused"; readonly id: number } & SerializedError);

/** What is known of a model once it is loaded. */
export type WorkerMetadata = Readonly<Record<string, string | number>>;
