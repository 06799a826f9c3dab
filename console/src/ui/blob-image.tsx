import { useObjectUrl } from "../lib/use-object-url.ts";

/** An image from memory. `alt`: what it shows, such as its prompt. */
export function BlobImage({
  blob,
  alt,
  className,
}: {
  blob: Blob;
  alt: string;
  className?: string;
}) {
  const url = useObjectUrl(blob);
  return url === undefined ? null : <img src={url} alt={alt} className={className} />;
}
