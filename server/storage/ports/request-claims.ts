/** Claims on idempotent requests, which replicas share: of two equal requests at the same time, one is sent. */

export type ClaimOutcome =
  /** The response is in the response store. */
  | { readonly kind: "stored" }
  /** The request ended without a response, and may be sent again. */
  | { readonly kind: "released" }
  /** The request failed, and must not be sent again for the requests that waited for it. `error`: as text. */
  | { readonly kind: "failed"; readonly error: string }
  /** The images may have been billed, and neither a response nor this fact could be stored. */
  | { readonly kind: "abandoned" };

/** The request that a claim is for. */
interface ClaimedRequest {
  readonly requestId: string;
  readonly fingerprint: string;
}

/** Except for `claimed`, `requestId` and `fingerprint` are those of the earlier request that has the claim. */
export type ClaimAnswer =
  | { readonly kind: "claimed"; readonly settle: (outcome: ClaimOutcome) => Promise<void> }
  /** The request is in flight. `claim`: to be passed to the next call. */
  | ({ readonly kind: "held"; readonly claim: string } & ClaimedRequest)
  | ({ readonly kind: "stored" } & ClaimedRequest)
  | ({ readonly kind: "failed"; readonly error: string } & ClaimedRequest)
  /** The request ended so, or its replica is gone. The images may have been billed. */
  | ({ readonly kind: "abandoned" } & ClaimedRequest);

export interface NewClaim extends ClaimedRequest {
  /** The store name of the response. */
  readonly name: string;
  /** The claim that this request waits for. Only then does it get the failure of that claim. */
  readonly waitsFor?: string | undefined;
}

export interface RequestClaims {
  /** Undefined: the claims are unreachable, and the request proceeds without one. */
  claim(claim: NewClaim): Promise<ClaimAnswer | undefined>;
}
