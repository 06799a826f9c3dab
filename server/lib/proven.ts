/** A check leaves a proof in the type: a value that only the check can make. */
declare const proof: unique symbol;
export type Proven<T, P extends string> = T & { readonly [proof]: P };

/** Called by the one function that did the check. */
export const prove = <T, P extends string>(value: T): Proven<T, P> => value as Proven<T, P>;
