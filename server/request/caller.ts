/**
 * Proofs that a request passed a check. Only `authenticate`, `callerOfKey`, `payerOfJob`, `internalCaller` and
 * `playgroundCaller` make a `Caller`, and only `resolveModel` makes a `PermittedModel`.
 */
import type { Key, Model } from "../config/snapshot.ts";
import type { Branded } from "../lib/branded.ts";

/** The API key of an authenticated request, the user of a playground in the console, or the gateway itself. */
export type Caller = Branded<Key, "authenticated">;

/** A model that the caller may use, with its targets. */
export type PermittedModel = Branded<Model, "permitted">;
