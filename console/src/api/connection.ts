/**
 * Whether the gateway responds. The requests of a page say it. A page without requests asks every 15 seconds while it is
 * visible, and after a failure at once, and then less and less often until the gateway responds again.
 */

const quietMs = 15_000;
const firstRetryMs = 1000;
/** A slow network is not a lost one. */
const timeoutMs = 10_000;

let isConnected = true;
let isAsking = false;
let retryMs = firstRetryMs;
let timer: ReturnType<typeof setTimeout>;
const listeners = new Set<() => void>();

export const isGatewayConnected = (): boolean => isConnected;

export function subscribeToConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A request has ended: the next question waits. */
export function setConnected(connected: boolean): void {
  const hasChanged = connected !== isConnected;
  isConnected = connected;
  if (connected) askIn(quietMs);
  else if (hasChanged) {
    retryMs = firstRetryMs;
    askIn(0);
  }
  if (hasChanged) for (const listener of listeners) listener();
}

function askIn(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(ask, ms);
}

async function ask(): Promise<void> {
  if (isAsking || document.hidden) return;
  isAsking = true;
  try {
    await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(timeoutMs) });
    setConnected(true);
  } catch {
    setConnected(false);
    askIn(retryMs);
    retryMs = Math.min(quietMs, retryMs * 2);
  } finally {
    isAsking = false;
  }
}

askIn(quietMs);
// A hidden page asks nothing: it asks when it is shown again.
document.addEventListener("visibilitychange", () => askIn(isConnected ? firstRetryMs : 0));
// The gateway may be on this machine, which works without a network: it is asked.
window.addEventListener("offline", ask);
window.addEventListener("online", ask);
