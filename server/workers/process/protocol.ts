/** The IPC protocol between the gateway and a worker's child process: Bun's IPC with structured clone. */
import type { ErrorKind } from "../../../contract/errors.ts";

/** An error as sent between processes: structured clone does not preserve `GatewayError`. */
export interface SerializedError {
  readonly error: ErrorKind;
  readonly message: string;
  readonly param?: string;
}

export type ToChild<Spec, TaskRequest> =
  /** The first message, once. */
  | { readonly type: "load"; readonly spec: Spec }
  | { readonly type: "request"; readonly id: number; readonly request: TaskRequest }
  | { readonly type: "cancel"; readonly id: number };

export type ToParent<Part> =
  | { readonly type: "ready"; readonly metadata: WorkerMetadata }
  /** The model cannot be loaded; the process is useless. */
  | ({ readonly type: "failed" } & SerializedError)
  | { readonly type: "part"; readonly id: number; readonly part: Part; readonly last: boolean }
  | ({ readonly type: "refused"; readonly id: number } & SerializedError);

/** Metadata of a loaded model. */
export type WorkerMetadata = Readonly<Record<string, string | number>>;
