/** Request ids: sortable by time, unguessable, in the shape of OpenAI's. */
export const newRequestId = (): string => `req_${Bun.randomUUIDv7("hex").replaceAll("-", "")}`;
