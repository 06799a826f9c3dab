/**
 * Parts of the console that are loaded after its start, such as pages. A lost connection is retried. After an update the
 * gateway has a build with other files: then the page stays as it is, and says that it has to be loaded again.
 */
import { type ComponentType, createElement, use } from "react";
import { setConnected } from "./connection.ts";

/** The gateway runs another build of the console than this page. */
export class OtherBuildError extends Error {}

const retryMs = [300, 1000, 2000, 4000] as const;
/** Before the parts that are not needed yet are loaded. */
const idleMs = 3000;
const retryIdleMs = 15_000;

let isOtherBuild = false;
const listeners = new Set<() => void>();

export const hasOtherBuild = (): boolean => isOtherBuild;

export function subscribeToBuild(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** In a start page, or in an address. */
const startFile = (text: string): string | undefined => /\/console\/main-\w+\.js/.exec(text)?.[0];

const ownStartFile = (): string | undefined =>
  startFile(document.querySelector<HTMLScriptElement>('script[type="module"]')?.src ?? "");

/** Rejects without a connection. */
async function isReplaced(): Promise<boolean> {
  const page = await fetch("/console/", { cache: "no-store" });
  const served = page.ok ? startFile(await page.text()) : undefined;
  return served !== undefined && served !== ownStartFile();
}

/** Whether the gateway responds. Throws OtherBuildError. */
async function checkBuild(): Promise<boolean> {
  const replaced = await isReplaced().catch(() => undefined);
  setConnected(replaced !== undefined);
  if (replaced) throw otherBuild();
  return replaced !== undefined;
}

function otherBuild(): OtherBuildError {
  isOtherBuild = true;
  for (const listener of listeners) listener();
  return new OtherBuildError("The gateway runs another version of the console. Reload the page.");
}

export async function loadChunk<Module>(load: () => Promise<Module>): Promise<Module> {
  for (const delayMs of retryMs) {
    try {
      return await load();
    } catch {
      await checkBuild();
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
  try {
    return await load();
  } catch (error) {
    // The file is missing, although the start page is that of this build: other replicas may have another one.
    throw (await checkBuild()) ? otherBuild() : error;
  }
}

const waiting: (() => Promise<unknown>)[] = [];

/** Loads a part of the console when the page is idle, so that it is there also without a connection. */
export const loadWhenIdle = (load: () => Promise<unknown>): void => {
  waiting.push(load);
};

/** One after the other. */
export function startIdleLoading(): void {
  const loadNext = async (): Promise<void> => {
    const load = waiting.shift();
    if (!load) return;
    await load().then(
      () => whenIdle(loadNext),
      (error: unknown) => {
        waiting.push(load);
        if (!(error instanceof OtherBuildError)) setTimeout(loadNext, retryIdleMs);
      },
    );
  };
  setTimeout(() => whenIdle(loadNext), idleMs);
}

/** Safari has no requestIdleCallback. */
const whenIdle = (run: () => void): void =>
  void (window.requestIdleCallback?.(run) ?? setTimeout(run, 100));

export interface LazyComponent<Props> {
  (props: Props): React.ReactNode;
  /** Called before the component is shown. */
  preload(): Promise<void>;
}

export function lazyComponent<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): LazyComponent<Props> {
  let loaded: ComponentType<Props> | undefined;
  let loading: Promise<void> | undefined;
  const preload = (): Promise<void> => {
    loading ??= loadChunk(load).then(
      (component) => {
        loaded = component;
      },
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  loadWhenIdle(preload);
  const Lazy = (props: Props) => {
    if (!loaded) use(preload());
    return loaded && createElement(loaded, props);
  };
  return Object.assign(Lazy, { preload });
}
