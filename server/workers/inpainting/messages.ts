/** IPC messages between the gateway and the inpainting model's process. */

export interface InpaintSpec {
  /** The ONNX file. */
  readonly path: string;
  /** The module to load as onnxruntime. */
  readonly onnxruntime: string;
}

export const inpaintFormats = ["png", "jpeg", "webp"] as const;
export type InpaintFormat = (typeof inpaintFormats)[number];

export interface InpaintRequest {
  /** Encoded, as the client sent them. */
  readonly image: Uint8Array;
  readonly mask: Uint8Array;
  /** Requested by the client; only the size of the image is possible. */
  readonly size?: string;
  readonly format: InpaintFormat;
  /** 0 to 100, of jpeg and webp. */
  readonly quality: number;
}

export interface InpaintResponsePart {
  /** The next chunk of the image. Chunks, because a large message would block the gateway's event loop. */
  readonly bytes: Uint8Array;
  readonly size: string;
}
