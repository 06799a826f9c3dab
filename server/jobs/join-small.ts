/** Joins small chunks, so that few are written, and keeps large ones, whose copy would take milliseconds. */

/** Chunks are joined up to this size. */
const joinedBytes = 256 * 1024;

export function joinSmall(chunks: readonly Uint8Array[]): Uint8Array[] {
  const groups: { readonly chunks: Uint8Array[]; bytes: number }[] = [];
  for (const chunk of chunks) {
    const last = groups.at(-1);
    if (last && last.bytes + chunk.length <= joinedBytes) {
      last.chunks.push(chunk);
      last.bytes += chunk.length;
    } else groups.push({ chunks: [chunk], bytes: chunk.length });
  }
  return groups.map(({ chunks: [first, ...others] }) =>
    others.length === 0 && first ? first : Buffer.concat([first as Uint8Array, ...others]),
  );
}
