/** Kinds of upstream that no longer exist: the error for a configuration that names one says why and what to use. */

export interface RetiredKind {
  /** The first day without the service. */
  readonly on: string;
  readonly instead: string;
}

export const retiredKinds: ReadonlyMap<string, RetiredKind> = new Map([
  [
    "github",
    {
      // github.blog/changelog/2026-07-01-github-models-is-being-fully-retired-on-july-30-2026
      on: "2026-07-30",
      instead:
        "GitHub Models has ended; use the kind openai, azure, azure-ai or openrouter, which serve the same models",
    },
  ],
]);
