/** What models do. Without zod: the console loads it with its first page. */
export const modelKinds = ["embedding", "image"] as const;
export type ModelKind = (typeof modelKinds)[number];
