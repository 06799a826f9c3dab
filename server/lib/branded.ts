/** Branded types: a value of the type can only be made by the function that does the check. */
declare const proof: unique symbol;
export type Branded<T, P extends string> = T & { readonly [proof]: P };

/** Called only by the function that has done the check. */
export const brand = <T, P extends string>(value: T): Branded<T, P> => value as Branded<T, P>;
