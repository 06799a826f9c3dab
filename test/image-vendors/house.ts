/**
 * Where the laws for vendors that draw take place: a real gateway before all of the fakes, the official client before
 * the gateway. A place is one law's hold on one vendor, and nobody else has it at the same time.
 */

import { adapters } from "../../server/upstream/adapters/index.ts";
import {
  type ImageCapabilities,
  unrestrictedImages,
} from "../../server/upstream/image-capabilities.ts";
import { startGateway, type TestGateway, testKey } from "../harness.ts";
import type { PictureVendor } from "./image-vendor.ts";
import { type Served, serveVendor, type VendorServer } from "./serve-vendor.ts";
import { type WatchedRow, watchLedger } from "./watch-ledger.ts";

export type Operation = PictureVendor["operations"][number];

/** What stands behind a public model of the vendor's. */
export type Role =
  | "painter"
  /** A model of a name that nobody knows yet. */
  | "newcomer"
  /** Two targets, alike. */
  | "pair"
  /** With a policy of its own. */
  | "strict"
  | "drop";

/** Gateways that differ in what is configured for all vendors. */
export type HouseName = "plain" | "policies" | "hurried";

const houseRoles: Readonly<Record<HouseName, readonly Role[]>> = {
  plain: ["painter", "newcomer", "pair"],
  policies: ["strict", "drop"],
  hurried: ["painter", "pair"],
};

export interface Place {
  readonly vendor: PictureVendor;
  readonly gateway: TestGateway;
  readonly served: Served;
  /** The second target of a pair. */
  readonly spare: Served;
  readonly origins: readonly string[];
  /** The public id. */
  model(role: Role): string;
  traits(operation: Operation): ImageCapabilities;
  /** The ids of the calls of this law so far. */
  readonly calls: string[];
  /** The ledger's rows of this vendor since the law began, oldest first. */
  rows(): WatchedRow[];
}

export interface House {
  /** Waits until the vendor, or a copy of it, is free. */
  withPlace<T>(vendor: PictureVendor, act: (place: Place) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A vendor and its double, and the models that stand for them. */
interface Booth {
  readonly vendor: PictureVendor;
  readonly number: number;
  readonly main: VendorServer;
  readonly spare: VendorServer;
  /** The ids of calls of earlier laws. */
  readonly past: Set<string>;
}

/** So many laws may look at one vendor at a time: some vendors let one wait. */
const copies: Readonly<Record<HouseName, number>> = { plain: 3, policies: 2, hurried: 1 };

export function openHouse(name: HouseName, vendors: readonly PictureVendor[]): House {
  const roles = houseRoles[name];
  const booths = Array.from({ length: copies[name] }, () => vendors)
    .flat()
    .map((vendor, number): Booth => {
      const [main, spare] = [serveVendor(vendor), serveVendor(vendor)];
      return { vendor, number, main, spare, past: new Set() };
    });
  const gateway = startGateway({
    yaml: JSON.stringify(configOf(booths, roles)),
    settings: { VEXEL_IMAGES_TIMEOUT: name === "hurried" ? "5" : "30" },
    logLevel: "error",
  });
  const ledger = watchLedger(gateway.folder);

  const enter = ({ vendor, number, main, spare, past }: Booth): Place => {
    const from = Date.now();
    const model = (role: Role) => `${role}-${number}`;
    const calls: string[] = [];
    const own: readonly (string | null)[] = roles.map(model);
    return {
      vendor,
      gateway,
      calls,
      served: main.open(),
      spare: spare.open(),
      origins: [main.origin, spare.origin],
      model,
      traits: (operation) => traitsOf(vendor, main.origin, operation),
      rows: () =>
        ledger
          .rows(from)
          // What was refused before it came to a model has only its id.
          .filter(({ model, requestId }) => own.includes(model) || calls.includes(requestId))
          // The law before may have ended within the same millisecond.
          .filter(({ requestId }) => !past.has(requestId)),
    };
  };

  const idle = new Set(booths);
  const waiting: { readonly vendor: PictureVendor; enter(booth: Booth): void }[] = [];
  const take = async (vendor: PictureVendor): Promise<Booth> => {
    const free = [...idle].find((booth) => booth.vendor === vendor);
    if (free) {
      idle.delete(free);
      return free;
    }
    const { promise, resolve } = Promise.withResolvers<Booth>();
    waiting.push({ vendor, enter: resolve });
    return promise;
  };
  const leave = (booth: Booth): void => {
    const next = waiting.findIndex(({ vendor }) => vendor === booth.vendor);
    const [first] = next < 0 ? [] : waiting.splice(next, 1);
    if (first) first.enter(booth);
    else idle.add(booth);
  };

  return {
    withPlace: async (vendor, act) => {
      const booth = await take(vendor);
      const place = enter(booth);
      try {
        return await act(place);
      } finally {
        for (const id of place.calls) booth.past.add(id);
        leave(booth);
      }
    },
    close: async () => {
      ledger.close();
      await gateway.close();
      for (const { main, spare } of booths) {
        main.close();
        spare.close();
      }
    },
  };
}

const configOf = (booths: readonly Booth[], roles: readonly Role[]): object => ({
  embedded: false,
  environment: false,
  keys: [{ name: "test", key: testKey }],
  upstreams: booths.flatMap(({ vendor, number, main, spare }) => [
    { id: `hidden-${number}`, kind: vendor.kind, ...settingsOf(vendor, main.origin) },
    { id: `spare-${number}`, kind: vendor.kind, ...settingsOf(vendor, spare.origin) },
  ]),
  models: booths.flatMap(({ vendor: { model }, number }) =>
    roles.map((role) => ({
      id: `${role}-${number}`,
      kind: "image",
      targets: [
        { upstream: `hidden-${number}`, model: role === "newcomer" ? "some-new-model-9" : model },
        ...(role === "pair" ? [{ upstream: `spare-${number}`, model }] : []),
      ],
      ...((role === "strict" || role === "drop") && { parameters: role }),
    })),
  ),
});

const settingsOf = (
  { config, basePath = "" }: PictureVendor,
  origin: string,
): Record<string, unknown> => ({
  baseUrl: `${origin}${basePath}`,
  ...(JSON.parse(JSON.stringify(config).replaceAll("{origin}", origin)) as object),
});

function traitsOf(vendor: PictureVendor, origin: string, operation: Operation): ImageCapabilities {
  const { baseUrl, apiKey, headers = {}, ...options } = settingsOf(vendor, origin);
  const upstream = {
    id: "hidden",
    kind: vendor.kind,
    baseUrl: String(baseUrl),
    ...(typeof apiKey === "string" && { apiKey }),
    headers: headers as Record<string, string>,
    options,
  };
  const pictures = adapters.get(vendor.kind)?.imageCapabilities;
  return pictures?.({ upstream, model: vendor.model }, operation) ?? unrestrictedImages;
}
