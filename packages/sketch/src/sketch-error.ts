/**
 * The error for a request that cannot be drawn. Everything else that `draw` throws is a defect, or the abort reason.
 */

export type SketchErrorCode =
  | "invalid_value"
  | "missing_parameter"
  | "prompt_too_long"
  | "unsupported_file_mimetype"
  | "invalid_image_file";

export interface SketchErrorDetails {
  /** The parameter of the request that is wrong. */
  readonly param: string;
  readonly cause?: unknown;
}

export class SketchError extends Error {
  override readonly name = "SketchError";
  readonly code: SketchErrorCode;
  readonly param: string;

  constructor(code: SketchErrorCode, message: string, { param, cause }: SketchErrorDetails) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.param = param;
  }
}
