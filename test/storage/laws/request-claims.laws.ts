/** Laws (contract tests) of `RequestClaims`. */
import { describe, expect } from "bun:test";
import type {
  ClaimAnswer,
  ClaimOutcome,
  NewClaim,
  RequestClaims,
} from "../../../server/storage/redis/request-claims.ts";
import { until } from "../../until.ts";
import { awkwardTexts, type Implementation, lawsOf, writeUntilKilled } from "./backend.ts";

/**
 * After this time without a renewal, the implementations under test treat a claim as abandoned. Long enough for a busy
 * machine: a claim is renewed after a third of it.
 */
export const claimLeaseMs = 2500;

export interface ClaimsReplica {
  readonly claims: RequestClaims;
  /** The replica loses its connection for good, like one that dies. */
  close(): Promise<void>;
}

const newClaim = (name: string, more: Partial<NewClaim> = {}): NewClaim => ({
  name,
  requestId: `req_${crypto.randomUUID()}`,
  fingerprint: "f".repeat(64),
  ...more,
});

const outcomes: readonly ClaimOutcome[] = [
  { kind: "stored" },
  { kind: "released" },
  { kind: "failed", error: "It took too long." },
  { kind: "abandoned" },
];

function claimed(answer: ClaimAnswer | undefined) {
  if (answer?.kind !== "claimed") throw new Error(`not claimed: ${answer?.kind}`);
  return answer;
}

function held(answer: ClaimAnswer | undefined) {
  if (answer?.kind !== "held") throw new Error(`not held: ${answer?.kind}`);
  return answer;
}

export function requestClaimsLaws(implementation: Implementation<ClaimsReplica>): void {
  const law = lawsOf(implementation);

  describe(`${implementation.name} request claims`, () => {
    law(
      "of claims at the same time, one succeeds, and the others name its request",
      async (open) => {
        const replicas = [await open(), await open(), await open()];
        const requests = Array.from({ length: 12 }, () => newClaim("same"));
        const answers = await Promise.all(
          requests.map((request, at) => replicas[at % 3]!.claims.claim(request)),
        );
        const winner = answers.findIndex((answer) => answer?.kind === "claimed");
        const others = answers.filter((_, at) => at !== winner).map(held);
        const { requestId, fingerprint } = requests[winner]!;
        expect(others).toHaveLength(11);
        for (const other of others) expect(other).toMatchObject({ requestId, fingerprint });
        expect(new Set(others.map(({ claim }) => claim)).size).toBe(1);
        await claimed(answers[winner]).settle({ kind: "released" });
      },
    );

    law("names, request ids, fingerprints and errors are kept in any script", async (open) => {
      const [one, other] = [await open(), await open()];
      for (const text of awkwardTexts) {
        const name = `name ${text}`;
        const request = newClaim(name, { requestId: text, fingerprint: text });
        const { settle } = claimed(await one.claims.claim(request));
        const { claim } = held(await other.claims.claim(newClaim(name)));
        await settle({ kind: "failed", error: text });
        expect(await other.claims.claim(newClaim(name, { waitsFor: claim }))).toEqual({
          kind: "failed",
          error: text,
          requestId: text,
          fingerprint: text,
        });
      }
    });

    law("a stored response is reported to requests that waited and to later ones", async (open) => {
      const [one, other] = [await open(), await open()];
      const request = newClaim("a");
      const { settle } = claimed(await one.claims.claim(request));
      const { claim } = held(await other.claims.claim(newClaim("a")));
      await settle({ kind: "stored" });
      const { requestId, fingerprint } = request;
      const stored = { kind: "stored", requestId, fingerprint };
      expect<unknown>(await other.claims.claim(newClaim("a", { waitsFor: claim }))).toEqual(stored);
      expect<unknown>(await one.claims.claim(newClaim("a"))).toEqual(stored);
    });

    law(
      "a claim that its request abandons is abandoned at once, and stays so longer than its lease",
      async (open) => {
        const [one, other] = [await open(), await open()];
        const request = newClaim("a");
        const { settle } = claimed(await one.claims.claim(request));
        const { claim } = held(await other.claims.claim(newClaim("a")));
        await settle({ kind: "abandoned" });
        const { requestId, fingerprint } = request;
        const abandoned = { kind: "abandoned", requestId, fingerprint };
        const waiting = newClaim("a", { waitsFor: claim });
        expect<unknown>(await other.claims.claim(waiting)).toEqual(abandoned);
        await Bun.sleep(1.2 * claimLeaseMs);
        expect<unknown>(await one.claims.claim(newClaim("a"))).toEqual(abandoned);
      },
    );

    law("a released claim is free for one of the requests that waited", async (open) => {
      const [one, other] = [await open(), await open()];
      const { settle } = claimed(await one.claims.claim(newClaim("a")));
      const { claim } = held(await other.claims.claim(newClaim("a")));
      await settle({ kind: "released" });
      const next = newClaim("a", { waitsFor: claim });
      const { settle: settleNext } = claimed(await other.claims.claim(next));
      expect(held(await one.claims.claim(newClaim("a")))).toMatchObject({
        requestId: next.requestId,
      });
      await settleNext({ kind: "released" });
    });

    law(
      "a failure is reported to the requests that waited for it, and leaves the name to others",
      async (open) => {
        const [one, other] = [await open(), await open()];
        const request = newClaim("a");
        const { settle } = claimed(await one.claims.claim(request));
        const { claim } = held(await other.claims.claim(newClaim("a")));
        await settle({ kind: "failed", error: "It took too long." });
        const waiting = newClaim("a", { waitsFor: claim });
        expect(await other.claims.claim(waiting)).toEqual({
          kind: "failed",
          error: "It took too long.",
          requestId: request.requestId,
          fingerprint: request.fingerprint,
        });
        // This request waited for another claim, so the failure is not that of the request that it waited for.
        const next = newClaim("a", { waitsFor: "another claim" });
        const { settle: settleNext } = claimed(await one.claims.claim(next));
        expect(held(await other.claims.claim(waiting))).toMatchObject({
          requestId: next.requestId,
        });
        await settleNext({ kind: "stored" });
        expect((await other.claims.claim(waiting))?.kind).toBe("stored");
      },
    );

    law("claims with different names do not affect each other", async (open) => {
      const { claims } = await open();
      const answers = await Promise.all(
        outcomes.map(({ kind }) => claims.claim(newClaim(`a ${kind}`))),
      );
      await Promise.all(outcomes.map((outcome, at) => claimed(answers[at]).settle(outcome)));
      const { settle } = claimed(await claims.claim(newClaim("a")));
      expect((await claims.claim(newClaim("a stored")))?.kind).toBe("stored");
      await settle({ kind: "released" });
    });

    law("a claim that was settled cannot be settled again", async (open) => {
      const { claims } = await open();
      const first = claimed(await claims.claim(newClaim("a")));
      await first.settle({ kind: "released" });
      const next = newClaim("a");
      const second = claimed(await claims.claim(next));
      for (const outcome of outcomes) await first.settle(outcome);
      expect(held(await claims.claim(newClaim("a")))).toMatchObject({ requestId: next.requestId });
      await second.settle({ kind: "stored" });
      await first.settle({ kind: "released" });
      expect((await claims.claim(newClaim("a")))?.kind).toBe("stored");
    });

    law("a claim lasts longer than its lease while its request is in flight", async (open) => {
      const [one, other] = [await open(), await open()];
      const { settle } = claimed(await one.claims.claim(newClaim("a")));
      await Bun.sleep(1.2 * claimLeaseMs);
      held(await other.claims.claim(newClaim("a")));
      await settle({ kind: "stored" });
      await Bun.sleep(1.2 * claimLeaseMs);
      expect((await other.claims.claim(newClaim("a")))?.kind).toBe("stored");
    });

    law("a claim whose replica is gone is abandoned, and stays so", async (open) => {
      const [dead, alive] = [await open(), await open()];
      const request = newClaim("a");
      claimed(await dead.claims.claim(request));
      const { claim } = held(await alive.claims.claim(newClaim("a")));
      await dead.close();
      const waiting = newClaim("a", { waitsFor: claim });
      await until(async () => (await alive.claims.claim(waiting))?.kind !== "held");
      const { requestId, fingerprint } = request;
      const abandoned = { kind: "abandoned", requestId, fingerprint };
      expect<unknown>(await alive.claims.claim(waiting)).toEqual(abandoned);
      expect<unknown>(await alive.claims.claim(newClaim("a"))).toEqual(abandoned);
    });

    law("claims are abandoned after kill -9 of their replica", async (open, location) => {
      const names = await writeUntilKilled("claims", implementation.name, location);
      expect(names.length).toBeGreaterThan(5);
      const { claims } = await open();
      for (const name of names) {
        await until(async () => (await claims.claim(newClaim(name)))?.kind === "abandoned");
      }
    });

    law("claims that are unreachable refuse every request, which may be retried", async (open) => {
      const { claims, close } = await open();
      await close();
      await expect(claims.claim(newClaim("a"))).rejects.toMatchObject({
        kind: "storage_unavailable",
        details: { notSent: true, retryAfterMs: expect.any(Number) },
      });
    });
  });
}
