/** A check leaves a proof in the type: a value that only the check can make. */
declare const proof: unique symbol;
export type Branded<T, P extends string> = T & { readonly [proof]: P };

/** Called by the one function that did the check. */
export const brand = <T, P extends string>(value: T): Branded<T, P> => value as Branded<T, P>;
