// The image of the gateway, made without a container engine: the Debian packages of deploy/docker/debian-packages.json,
// the installed npm package, and the configuration of deploy/docker/image.json. The image has no shell and no package
// manager, the user is not root, and the root file system can be read-only; only /data and /tmp are written.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { root } from "../install.mjs";
import { writeTar } from "./archive.mjs";
import { unpackDebianPackages } from "./debian.mjs";
import { bunOf } from "./executables.mjs";
import { readJson, run, sha256 } from "./run.mjs";

const user = 65532;
/** The folders of this user; all others belong to root. */
const owned = ["data", "tmp"];

/** Makes a root file system of Debian packages in `folder`. */
export async function writeRootfs({ debian }, folder) {
  mkdirSync(folder, { recursive: true });
  const unpacked = await unpackDebianPackages(debian, folder);
  const at = (...names) => join(folder, ...names);
  // For maintainer scripts and readers of manuals. Licenses stay in usr/share/doc.
  const unused = ["bin", "sbin", "usr/bin", "usr/sbin", "usr/games", "usr/share/info"];
  const documents = ["usr/share/lintian", "usr/share/locale", "usr/share/man"];
  for (const path of [...unused, ...documents]) rmSync(at(path), { recursive: true, force: true });
  const certificates = at("usr/share/ca-certificates/mozilla");
  const names = readdirSync(certificates).sort();
  mkdirSync(at("etc/ssl/certs"), { recursive: true });
  writeFileSync(
    at("etc/ssl/certs/ca-certificates.crt"),
    names.map((name) => readFileSync(join(certificates, name), "utf8").trimEnd()).join("\n"),
  );
  writeFileSync(
    at("etc/passwd"),
    `root:x:0:0:root:/root:/sbin/nologin\nvexel:x:${user}:${user}::/data:/sbin/nologin\n`,
  );
  writeFileSync(at("etc/group"), `root:x:0:\nvexel:x:${user}:\n`);
  writeFileSync(
    at("etc/nsswitch.conf"),
    "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n",
  );
  // Scanners of images read the list of packages here, as in Google's distroless images.
  mkdirSync(at("var/lib/dpkg/status.d"), { recursive: true });
  for (const { name, control } of unpacked)
    writeFileSync(at("var/lib/dpkg/status.d", name), control);
  rmSync(at("tmp"), { recursive: true, force: true });
  for (const path of ["proc", "sys", "dev", "root"]) mkdirSync(at(path), { recursive: true });
}

/** Installs the gateway in the root file system: `installed` has its packages, for the same platform. */
export function writeOwnFiles(platform, { installed, folder }) {
  const modules = join(folder, "opt/vexel/node_modules");
  mkdirSync(join(folder, "opt/vexel"), { recursive: true });
  cpSync(join(installed, "node_modules"), modules, { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(modules, "bun/bin"), { recursive: true });
  cpSync(bunOf(platform, installed), join(modules, "bun/bin/bun.exe"));
  rmSync(join(modules, "@oven"), { recursive: true });
  run("sh", [join(root, "deploy/docker/prune.sh"), modules]);
  for (const name of owned) mkdirSync(join(folder, name));
}

/**
 * Writes the image as an archive that `docker load`, `podman load` and `skopeo copy oci-archive:` read.
 *
 * @param base The root file system of Debian packages. @param own The files of the gateway.
 */
export function writeImage({ debian }, { base, own, staging, file, version, commit, seconds }) {
  const layout = join(staging, `layout-${debian}`);
  const blobs = join(layout, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const created = new Date(seconds * 1000).toISOString();
  const layers = [layerOf(base), layerOf(own)];
  const { Labels, ...config } = readJson(join(root, "deploy/docker/image.json"));
  const names = { "org.opencontainers.image.version": version };
  const labels = { ...Labels, ...names, "org.opencontainers.image.revision": commit };
  const configBlob = addBlob({
    architecture: debian,
    os: "linux",
    created,
    config: { ...config, Labels: labels },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: ["the Debian packages", "the gateway"].map((each) => ({ created, created_by: each })),
  });
  const types = "application/vnd.oci.image";
  const manifest = addBlob({
    schemaVersion: 2,
    mediaType: `${types}.manifest.v1+json`,
    config: { mediaType: `${types}.config.v1+json`, ...configBlob },
    layers: layers.map(({ digest, size }) => ({
      mediaType: `${types}.layer.v1.tar+gzip`,
      digest,
      size,
    })),
  });
  const reference = { "org.opencontainers.image.ref.name": version };
  writeJson("oci-layout", { imageLayoutVersion: "1.0.0" });
  writeJson("index.json", {
    schemaVersion: 2,
    mediaType: `${types}.index.v1+json`,
    manifests: [
      {
        mediaType: `${types}.manifest.v1+json`,
        ...manifest,
        platform: { architecture: debian, os: "linux" },
        annotations: {
          ...reference,
          "io.containerd.image.name": `docker.io/library/vexel:${version}`,
        },
      },
    ],
  });
  // What versions of Docker read that do not know the OCI layout.
  const pathOf = ({ digest }) => `blobs/sha256/${digest.slice("sha256:".length)}`;
  writeJson("manifest.json", [
    { Config: pathOf(configBlob), RepoTags: [`vexel:${version}`], Layers: layers.map(pathOf) },
  ]);
  writeTar(file, layout, ["blobs", "index.json", "manifest.json", "oci-layout"], { seconds });
  rmSync(layout, { recursive: true });

  function layerOf(folder) {
    const tar = join(staging, `layer-${debian}.tar`);
    const names = readdirSync(folder);
    const others = names.filter((name) => !owned.includes(name));
    const own = names.filter((name) => owned.includes(name));
    writeTar(tar, folder, others, { seconds, owned: own, id: user });
    const bytes = readFileSync(tar);
    rmSync(tar);
    return { diffId: `sha256:${sha256(bytes)}`, ...addBlob(gzipSync(bytes, { level: 6 })) };
  }

  function addBlob(content) {
    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
    const hash = sha256(bytes);
    writeFileSync(join(blobs, hash), bytes);
    return { digest: `sha256:${hash}`, size: bytes.length };
  }

  function writeJson(name, value) {
    writeFileSync(join(layout, name), JSON.stringify(value));
  }
}
