/**
 * The files for deployment (image, compose, nginx, HAProxy, Helm, systemd) fit together, and use settings that
 * exist.
 */
import { describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { providers, variablesOf } from "../../server/config/sources/providers.ts";
import { createClientAddress } from "../../server/http/client-address.ts";
import { settingsTable } from "../../server/settings.ts";
import { root } from "../harness.ts";
import { helmPath, pathOf, testWith } from "../programs.ts";
import { haproxyConfig } from "../topology/haproxy.ts";

const textOf = (path: string): string => readFileSync(join(root, path), "utf8");

interface ComposeService {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly stop_grace_period?: string;
  readonly command?: readonly string[];
  readonly networks?: { readonly default: { readonly ipv4_address: string } };
}

interface ChartObject {
  readonly kind: string;
  readonly spec?: unknown;
}

const compose = parse(textOf("deploy/compose.yaml"), { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: {
    readonly default: {
      readonly ipam: { readonly config: readonly { readonly gateway: string }[] };
    };
  };
};
const values = parse(textOf("deploy/helm/values.yaml")) as Record<string, unknown>;
const templates = readdirSync(join(root, "deploy/helm/templates")).map((name) =>
  textOf(`deploy/helm/templates/${name}`),
);
const replicas = Object.entries(compose.services).filter(([name]) => name.startsWith("vexel-"));

describe("deployment files", () => {
  test("set only variables that the gateway reads", () => {
    const keysOf = (value: unknown): string[] => Object.keys((value ?? {}) as object);
    const used = [
      ...replicas.flatMap(([, { environment }]) => keysOf(environment)),
      ...keysOf(values.settings),
      ...keysOf(values.secrets),
      ...matches(templates.join("\n"), /\{ name: ([A-Z][A-Z_]+),/g),
      ...matches(textOf("deploy/helm/values.yaml"), /\b([A-Z]+(?:_[A-Z]+)+)\b/g),
      ...matches(textOf("deploy/systemd/vexel.service"), /^Environment=(\w+)=/gm),
      ...matches(textOf("deploy/docker/image.json"), /^ +"([A-Z_]+)=/gm),
      ...matches(textOf("deploy/docker/image.json"), /process\.env\.(\w+)/g),
    ];
    const known = new Set([...Object.keys(settingsTable), ...providers.flatMap(variablesOf)]);
    // The command that hints name: server/process/own-command.ts.
    known.add("VEXEL_COMMAND");
    // Of the system and of Bun.
    for (const name of ["PATH", "SSL_CERT_FILE"]) known.add(name);
    // The health check of the image works with HTTPS, too.
    expect(used).toContain("VEXEL_TLS_CERT");
    expect(used).toContain("BLOB_URL");
    expect(used).toContain("VEXEL_DATA");
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test("the two replicas of compose have read-only root file systems and time to drain and to finish images", () => {
    expect(replicas.map(([name]) => name)).toEqual(["vexel-1", "vexel-2"]);
    const drainSeconds =
      settingsTable.VEXEL_DRAIN_TIMEOUT.parse(undefined) +
      settingsTable.VEXEL_IMAGES_TIMEOUT.parse(undefined);
    for (const [, service] of replicas) {
      expect(service.read_only).toBe(true);
      expect(Number.parseInt(service.stop_grace_period ?? "", 10)).toBeGreaterThan(drainSeconds);
    }
    expect(
      Number(matches(textOf("deploy/systemd/vexel.service"), /^TimeoutStopSec=(\d+)$/gm)[0]),
    ).toBeGreaterThan(drainSeconds);
    // A replica of the chart serves for a while before SIGTERM, and writes its ledger after the drain.
    expect(values.preStopSeconds).toBeGreaterThan(0);
    expect(Number(values.terminationGracePeriodSeconds)).toBeGreaterThanOrEqual(
      Number(values.preStopSeconds) + drainSeconds + 10,
    );
  });

  test("the lifecycle rules of compose delete no files, jobs, stored content and ledger rows", () => {
    const [command = ""] = compose.services.bucket?.command ?? [];
    const rules = matches(command, /ilm rule add (.+?) minio/g);
    expect(rules).toEqual([
      "--prefix images/ --expire-days 3",
      "--prefix responses/ --expire-days 3",
    ]);
  });

  test("a client of compose cannot choose its address in X-Forwarded-For", () => {
    const nginx = compose.services.nginx?.networks?.default.ipv4_address ?? "";
    const gateway = compose.networks.default.ipam.config[0]?.gateway ?? "";
    // nginx appends the address of Docker's gateway, from which it gets the connections of clients.
    const headers = new Headers({ "x-forwarded-for": `203.0.113.9, ${gateway}` });
    for (const [, { environment }] of replicas) {
      const clientAddress = createClientAddress(environment?.VEXEL_TRUSTED_PROXIES ?? "");
      expect(clientAddress({ remoteAddress: nginx, headers })).toBe(gateway);
      expect(clientAddress({ remoteAddress: gateway, headers })).toBe(gateway);
    }
  });

  testWith("nginx")("nginx accepts its configuration, which names the replicas of compose", () => {
    const text = textOf("deploy/nginx/nginx.conf");
    for (const [name] of replicas) expect(text).toContain(`server ${name}:8080 `);
    const folder = mkdtempSync(join(tmpdir(), "vexel-nginx-"));
    const path = join(folder, "nginx.conf");
    // The names exist only in the network of compose, and other programs may use the files and the port.
    const local = text
      .replaceAll(/vexel-\d:8080/g, "127.0.0.1:9")
      .replaceAll("/tmp/", `${folder}/`)
      .replace("listen 8080", `listen unix:${folder}/socket`);
    writeFileSync(path, local);
    const { exitCode, stderr } = Bun.spawnSync([pathOf("nginx"), "-t", "-c", path]);
    rmSync(folder, { recursive: true, force: true });
    expect(stderr.toString()).toContain("test is successful");
    expect(exitCode).toBe(0);
  });

  testWith("haproxy")(
    "HAProxy accepts its configuration, which names the replicas of compose",
    () => {
      const text = textOf("deploy/haproxy/haproxy.cfg");
      for (const [name] of replicas) expect(text).toContain(`server ${name} ${name}:8080`);
      const folder = mkdtempSync(join(tmpdir(), "vexel-haproxy-"));
      const path = join(folder, "haproxy.cfg");
      writeFileSync(path, haproxyConfig(`unix@${folder}/socket`, ["127.0.0.1:9", "127.0.0.1:9"]));
      const { exitCode, stderr } = Bun.spawnSync([pathOf("haproxy"), "-c", "-q", "-f", path]);
      rmSync(folder, { recursive: true, force: true });
      expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    },
  );

  test("proxies wait longer for an image than the gateway does", () => {
    const imageSeconds = settingsTable.VEXEL_IMAGES_TIMEOUT.parse(undefined);
    const timeouts = [
      ...matches(textOf("deploy/nginx/nginx.conf"), /proxy_(?:read|send)_timeout (\d+)s/g),
      ...matches(textOf("deploy/haproxy/haproxy.cfg"), /timeout (?:client|server) +(\d+)s/g),
    ];
    expect(timeouts).toHaveLength(4);
    for (const seconds of timeouts) expect(Number(seconds)).toBeGreaterThan(imageSeconds);
  });

  test("the chart renders: every value that it uses has a default", () => {
    const used = templates.flatMap((text) => matches(text, /\.Values\.([\w.]+)/g));
    const missing = used.filter((path) => valueAt(values, path.split(".")) === undefined);
    expect(missing).toEqual([]);
    expect(used.length).toBeGreaterThan(20);
    const chart = parse(textOf("deploy/helm/Chart.yaml")) as {
      version: string;
      appVersion: string;
    };
    const { version } = JSON.parse(textOf("package.json")) as { version: string };
    expect([chart.version, chart.appVersion]).toEqual([version, version]);
    for (const [, { image }] of replicas) expect(image).toBe(`vexel:${version}`);
    const helm = helmPath();
    if (helm === undefined) return;
    const command = [helm, "template", "test", join(root, "deploy/helm"), "--kube-version=1.30"];
    const separate = Bun.spawnSync(command);
    expect(separate.stderr.toString()).toContain("With more than one replica, set");
    // The autoscaler would start more replicas, each with its own data.
    const scaled = Bun.spawnSync([...command, "--set=replicas=1"]);
    expect(scaled.stderr.toString()).toContain("With more than one replica, set");
    const single = Bun.spawnSync([...command, "--set=replicas=1,autoscaling.enabled=false"]);
    expect([single.exitCode, single.stderr.toString()]).toEqual([0, ""]);
    const { exitCode, stdout, stderr } = Bun.spawnSync([
      ...command,
      "--set=metricsPort=9464,serviceMonitor.enabled=true,serviceAccount.create=true",
      "--set=prometheusRule.enabled=true,priorityClassName=high,affinity.nodeAffinity.x=y",
      "--set=imagePullSecrets[0].name=registry,extraVolumes[0].name=ca,extraVolumeMounts[0].name=ca",
      "--set=extraEnv[0].name=REDIS_URL,extraEnv[0].value=redis://host,secrets.VEXEL_SECRET=s",
      "--set=secrets.DATABASE_URL=postgres://host/vexel,settings.BLOB_URL_FILE=/blob",
    ]);
    expect([exitCode, stderr.toString()]).toEqual([0, ""]);
    // The container, its annotation, its setting, the network policy, the service and the service monitor.
    expect(matches(stdout.toString(), /(\b9464\b|port: metrics)/g)).toHaveLength(6);
    const kinds = matches(stdout.toString(), /^kind: (\w+)$/gm);
    expect(kinds).toContain("ServiceAccount");
    expect(kinds).toContain("ServiceMonitor");
    const objects = parseAllDocuments(stdout.toString()).map((each) => each.toJS() as ChartObject);
    const ofKind = (kind: string) => objects.find((each) => each.kind === kind)?.spec;
    // The expressions of alerts have the braces of templates, which Helm must not read.
    expect(ofKind("PrometheusRule")).toEqual(parse(textOf("deploy/helm/rules/vexel-alerts.yaml")));
    expect(ofKind("StatefulSet")).toMatchObject({
      template: {
        spec: {
          priorityClassName: "high",
          affinity: { nodeAffinity: { x: "y" } },
          topologySpreadConstraints: [
            { topologyKey: "kubernetes.io/hostname" },
            { topologyKey: "topology.kubernetes.io/zone" },
          ],
        },
      },
    });
    const partial = Bun.spawnSync([
      ...command,
      "--set=secrets.DATABASE_URL=a,secrets.VEXEL_SECRET=s",
    ]);
    expect(partial.stderr.toString()).toContain("set secrets.REDIS_URL.");
  });
});

test("the chart makes a PrometheusRule of the file that Prometheus reads", () => {
  const template = textOf("deploy/helm/templates/prometheus-rule.yaml");
  const [file = ""] = matches(template, /\.Files\.Get "([^"]+)" \| nindent 2/g);
  const { groups } = parse(textOf(`deploy/helm/${file}`)) as { groups: { name: string }[] };
  expect(groups.map(({ name }) => name)).toEqual(["vexel", "vexel-error-budget"]);
});

test("the chart refuses several replicas without what they share", () => {
  const checked = /range \$name := list (.*) }}/.exec(
    textOf("deploy/helm/templates/secret.yaml"),
  )?.[1];
  expect(checked).toBe('"VEXEL_SECRET" "DATABASE_URL" "REDIS_URL" "BLOB_URL"');
});

test("the network policy of the chart admits the upstreams that run in a cluster", () => {
  const { egressPorts } = values.networkPolicy as { egressPorts: readonly number[] };
  const ollama = matches(textOf("server/upstream/adapters/ollama.ts"), /http:\/\/127.0.0.1:(\d+)/g);
  // vLLM listens on port 8000 unless it is told otherwise.
  for (const port of [...ollama, "8000"]) expect(egressPorts).toContain(Number(port));
  expect(ollama).toHaveLength(1);
});

const matches = (text: string, pattern: RegExp): string[] =>
  Array.from(text.matchAll(pattern), ([, name = ""]) => name);

const valueAt = (value: unknown, [name, ...more]: readonly string[]): unknown =>
  name === undefined ? value : valueAt((value as Record<string, unknown> | null)?.[name], more);
