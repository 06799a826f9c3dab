/** Request ids: sortable by time, unguessable, in the shape of OpenAI's. */
export function newRequestId(): string {
  const id = Bun.randomUUIDv7();
  // Sliced at the hyphens, which have fixed positions: half the cost of `replaceAll`.
  return `req_${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`;
}
