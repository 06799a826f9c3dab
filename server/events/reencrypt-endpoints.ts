/** Encrypts the signing secrets of webhook endpoints again, with the current key (`vexel config reencrypt`). */
import type { SecretBox } from "../storage/encrypt-secret.ts";
import type { WebhookEndpointStore } from "../storage/sql/webhook-endpoint-store.ts";

/** Returns how many endpoints were written. */
export async function reencryptEndpoints(
  store: Pick<WebhookEndpointStore, "all" | "update">,
  secrets: Pick<SecretBox, "encrypt" | "decrypt" | "isCurrent">,
): Promise<number> {
  let written = 0;
  for (const { owner, id, secret, previousSecret } of await store.all()) {
    const stored = [secret, ...(previousSecret === null ? [] : [previousSecret])];
    if (stored.every((each) => secrets.isCurrent(each))) continue;
    const [again, previousAgain = null] = stored.map((each) =>
      secrets.encrypt(secrets.decrypt(each, id), id),
    );
    await store.update(owner, id, {
      ...(again !== undefined && { secret: again }),
      previousSecret: previousAgain,
    });
    written += 1;
  }
  return written;
}
