/** Whether the gateway responds. An open page asks more than once a second, also a page without requests. */

/** With the time of a refused connection, the page says it within a second. */
const beatMs = 750;
/** A slow network is not a lost one. */
const timeoutMs = 10_000;

let isConnected = true;
let isAsking = false;
const listeners = new Set<() => void>();

export const isGatewayConnected = (): boolean => isConnected;

export function subscribeToConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function setConnected(connected: boolean): void {
  if (connected === isConnected) return;
  isConnected = connected;
  for (const listener of listeners) listener();
}

async function ask(): Promise<void> {
  if (isAsking || document.hidden) return;
  isAsking = true;
  try {
    await fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(timeoutMs) });
    setConnected(true);
  } catch {
    setConnected(false);
  } finally {
    isAsking = false;
  }
}

setInterval(ask, beatMs);

// The gateway may be on this machine, which works without a network: it is asked.
window.addEventListener("offline", ask);
