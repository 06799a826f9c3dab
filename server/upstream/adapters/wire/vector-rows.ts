/** Reads vectors from an array of arrays, one for each input and in input order. */
import type { Vector } from "../../contract.ts";
import { invalidResponse } from "./members.ts";

export function vectorRows(list: unknown): readonly Vector[] {
  if (!Array.isArray(list)) throw invalidResponse("it has no list of vectors");
  return list.map((row: unknown) => {
    if (!Array.isArray(row)) throw invalidResponse("an entry of its list is not a vector");
    // A model without pooling returns a vector for each token. How to combine them is not known here.
    if (Array.isArray(row[0])) throw invalidResponse("it has several vectors for one input");
    return row as readonly number[];
  });
}
