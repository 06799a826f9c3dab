/**
 * The vector codec: base64 and JSON text of float32 vectors, in WebAssembly where it is several times faster. Other
 * code imports this file only. WebAssembly memory never leaves the folder, except as a view that `EncodedVector.decode`
 * documents.
 */
export {
  checkBase64,
  checkNumbers,
  checkVector,
  decodeText,
  EncodedVector,
  type VectorValidity,
} from "./float32-base64.ts";
export { readNumbers } from "./read-numbers.ts";
export { maxTextBytes, printFloats } from "./wasm.ts";
