/**
 * The decoded image that the mask is painted on. Undefined while it is decoded, and if the browser cannot decode it.
 */
import { useEffect, useState } from "react";

export function useBitmap(blob: Blob | undefined): ImageBitmap | undefined {
  const [bitmap, setBitmap] = useState<ImageBitmap>();
  useEffect(() => {
    let isCurrent = true;
    setBitmap(undefined);
    if (blob) {
      createImageBitmap(blob).then(
        (decoded) => isCurrent && setBitmap(decoded),
        () => isCurrent && setBitmap(undefined),
      );
    }
    return () => {
      isCurrent = false;
    };
  }, [blob]);
  return bitmap;
}
