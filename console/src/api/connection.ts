/** Whether the gateway responds. While it does not, it is asked every second, also on a page without requests. */

const retryMs = 1_000;

let isConnected = true;
let isAsking = false;
const listeners = new Set<() => void>();

export const isGatewayConnected = (): boolean => isConnected;

export function subscribeToConnection(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function setConnected(connected: boolean): void {
  if (!connected) tryAgain();
  if (connected === isConnected) return;
  isConnected = connected;
  for (const listener of listeners) listener();
}

function tryAgain(): void {
  if (isAsking) return;
  isAsking = true;
  setTimeout(ask, retryMs);
}

async function ask(): Promise<void> {
  isAsking = false;
  try {
    await fetch("/healthz", { cache: "no-store" });
    setConnected(true);
  } catch {
    setConnected(false);
  }
}

// The gateway may be on this machine, which works without a network: it is asked.
window.addEventListener("offline", ask);
