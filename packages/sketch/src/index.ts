/** The package's public interface: `draw`, its request and event types, and the one error type that it throws. */
export { draw } from "./draw.ts";
export type {
  CompletedImage,
  EditSources,
  ImageFacts,
  ImageInput,
  PartialImage,
  SketchEvent,
  SketchOptions,
  SketchRequest,
  Usage,
} from "./request.ts";
export { SketchError, type SketchErrorCode } from "./sketch-error.ts";
