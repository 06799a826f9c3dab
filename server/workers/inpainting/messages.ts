/** What the gateway asks of the inpainting model's process, and what comes back. */

export interface InpaintSpec {
  /** The ONNX file. */
  readonly path: string;
  /** The module to load as onnxruntime. */
  readonly onnxruntime: string;
  readonly threads?: number;
}

export const formats = ["png", "jpeg", "webp"] as const;
export type Format = (typeof formats)[number];

export interface InpaintRequest {
  /** Encoded, as the caller sent them. */
  readonly image: Uint8Array;
  readonly mask: Uint8Array;
  /** What the caller wants; only the size of the image is possible. */
  readonly size?: string;
  readonly format: Format;
  /** 0 to 100, of jpeg and webp. */
  readonly quality: number;
}

export interface InpaintResponsePart {
  /** The next piece of the picture. Pieces, because a large message would hold up the gateway's event loop. */
  readonly bytes: Uint8Array;
  readonly size: string;
}
