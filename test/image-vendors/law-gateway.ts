/**
 * The gateway under test for the laws about image vendors: a real gateway in front of all fake vendors, used with the
 * official client. A law context gives one law exclusive use of one fake vendor.
 */

import { adapters } from "../../server/upstream/adapters/index.ts";
import type { Upstream } from "../../server/upstream/contract.ts";
import {
  type ImageCapabilities,
  unrestrictedImages,
} from "../../server/upstream/image-capabilities.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import type { FakeVendor } from "./image-vendor.ts";
import { type RunningFake, serveVendor, type VendorServer } from "./serve-vendor.ts";
import { type WatchedRow, watchLedger } from "./watch-ledger.ts";

export type Operation = FakeVendor["operations"][number];

/** The kind of public model that is configured for a vendor. */
export type Role =
  | "single"
  /** A model name that the adapter does not know. */
  | "new-model"
  /** Two equal targets. */
  | "pair";

/** Gateways with different configurations for all vendors. */
export type GatewayName = "plain" | "short-timeout";

const gatewayRoles: Readonly<Record<GatewayName, readonly Role[]>> = {
  plain: ["single", "new-model", "pair"],
  "short-timeout": ["single", "pair"],
};

export interface LawContext {
  readonly vendor: FakeVendor;
  readonly gateway: TestGateway;
  readonly fake: RunningFake;
  /** The second target of a pair. */
  readonly secondFake: RunningFake;
  readonly origins: readonly string[];
  /** The public id. */
  model(role: Role): string;
  capabilities(operation: Operation): ImageCapabilities;
  /** The ids of this law's requests so far. */
  readonly requestIds: string[];
  /** The ledger's rows of this vendor since the law began, oldest first. */
  rows(): WatchedRow[];
}

export interface LawGateway {
  /** Waits until a fake of this vendor is free. */
  withContext<T>(vendor: FakeVendor, act: (context: LawContext) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A fake vendor and a second one of the same kind, with their models. */
interface FakePair {
  readonly vendor: FakeVendor;
  readonly number: number;
  readonly main: VendorServer;
  readonly second: VendorServer;
  /** The ids of requests of earlier laws. */
  readonly earlierRequestIds: Set<string>;
}

/** How many laws may use one vendor at a time. More than one, because some vendors are slow. */
const copies: Readonly<Record<GatewayName, number>> = { plain: 2, "short-timeout": 1 };

export function startLawGateway(name: GatewayName, vendors: readonly FakeVendor[]): LawGateway {
  const roles = gatewayRoles[name];
  const allFakes = Array.from({ length: copies[name] }, () => vendors)
    .flat()
    .map((vendor, number): FakePair => {
      const [main, second] = [serveVendor(vendor), serveVendor(vendor)];
      return { vendor, number, main, second, earlierRequestIds: new Set() };
    });
  const gateway = startGateway({
    yaml: JSON.stringify(configOf(allFakes, roles)),
    settings: { VEXEL_IMAGES_TIMEOUT: name === "short-timeout" ? "5" : "300" },
    logLevel: "error",
  });
  const ledger = watchLedger(gateway.folder);

  const contextFor = ({
    vendor,
    number,
    main,
    second,
    earlierRequestIds,
  }: FakePair): LawContext => {
    const from = Date.now();
    const model = (role: Role) => `${role}-${number}`;
    const requestIds: string[] = [];
    const models = roles.map(model);
    return {
      vendor,
      gateway,
      requestIds,
      fake: main.open(),
      secondFake: second.open(),
      origins: [main.origin, second.origin],
      model,
      capabilities: (operation) => capabilitiesOf(vendor, main.origin, operation),
      rows: () =>
        ledger
          .rows({ from, models, requestIds })
          // The previous law may have ended within the same millisecond.
          .filter(({ requestId }) => !earlierRequestIds.has(requestId)),
    };
  };

  const idle = new Set(allFakes);
  const waiting: { readonly vendor: FakeVendor; enter(fakes: FakePair): void }[] = [];
  const acquireFakes = async (vendor: FakeVendor): Promise<FakePair> => {
    const free = [...idle].find((fakes) => fakes.vendor === vendor);
    if (free) {
      idle.delete(free);
      return free;
    }
    const { promise, resolve } = Promise.withResolvers<FakePair>();
    waiting.push({ vendor, enter: resolve });
    return promise;
  };
  const releaseFakes = (fakes: FakePair): void => {
    const next = waiting.findIndex(({ vendor }) => vendor === fakes.vendor);
    const [first] = next < 0 ? [] : waiting.splice(next, 1);
    if (first) first.enter(fakes);
    else idle.add(fakes);
  };

  return {
    withContext: async (vendor, act) => {
      const fakes = await acquireFakes(vendor);
      const context = contextFor(fakes);
      try {
        return await act(context);
      } finally {
        for (const id of context.requestIds) fakes.earlierRequestIds.add(id);
        releaseFakes(fakes);
      }
    },
    close: async () => {
      ledger.close();
      await gateway.close();
      for (const { main, second } of allFakes) {
        main.close();
        second.close();
      }
    },
  };
}

const configOf = (allFakes: readonly FakePair[], roles: readonly Role[]): object => ({
  builtInModels: false,
  environment: false,
  keys: [{ name: "test", key: testKey }],
  upstreams: allFakes.flatMap(({ vendor, number, main, second }) => [
    { id: `hidden-${number}`, kind: vendor.kind, ...settingsOf(vendor, main.origin) },
    { id: `spare-${number}`, kind: vendor.kind, ...settingsOf(vendor, second.origin) },
  ]),
  models: allFakes.flatMap(({ vendor: { model }, number }) =>
    roles.map((role) => ({
      id: `${role}-${number}`,
      kind: "image",
      targets: [
        { upstream: `hidden-${number}`, model: role === "new-model" ? "some-new-model-9" : model },
        ...(role === "pair" ? [{ upstream: `spare-${number}`, model }] : []),
      ],
    })),
  ),
});

const settingsOf = (
  { config, basePath = "" }: FakeVendor,
  origin: string,
): Record<string, unknown> => ({
  baseUrl: `${origin}${basePath}`,
  ...(JSON.parse(JSON.stringify(config).replaceAll("{origin}", origin)) as object),
});

/** The upstream of a fake vendor that is served at `origin`. */
export function upstreamOf(vendor: FakeVendor, origin: string): Upstream {
  const { baseUrl, apiKey, headers = {}, ...options } = settingsOf(vendor, origin);
  return {
    id: "hidden",
    kind: vendor.kind,
    baseUrl: String(baseUrl),
    ...(typeof apiKey === "string" && { apiKey }),
    headers: headers as Record<string, string>,
    options,
  };
}

export function capabilitiesOf(
  vendor: FakeVendor,
  origin: string,
  operation: Operation,
): ImageCapabilities {
  const upstream = upstreamOf(vendor, origin);
  const imageCapabilities = adapters.get(vendor.kind)?.imageCapabilities;
  return imageCapabilities?.({ upstream, model: vendor.model }, operation) ?? unrestrictedImages;
}
