// What is in each file of a release that is not Vexel's own: the notices and the bill of materials are made of it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../install.mjs";
import { debianPackages } from "./debian.mjs";
import { checkedLicense, licenseTexts } from "./licenses.mjs";
import { lockedPackage, nameOf, neededBy } from "./locked-packages.mjs";

/**
 * @typedef {object} Component
 * @property {string} name
 * @property {string} version
 * @property {string} license An SPDX expression.
 * @property {string} purl
 * @property {string | undefined} integrity That of package-lock.json.
 * @property {string[]} texts
 */

/** The packages of the console, which are in its bundle: npm package, executable and image have it. */
export const consoleComponents = () => npmComponents(neededBy("console"), root);

/** The packages that are installed in a folder for a platform. */
export const installedComponents = (platform, folder) =>
  npmComponents(
    neededBy("", platform)
      .filter((path) => existsSync(join(folder, path)))
      // Bun's program is in a package for its platform; the license is that of the package `bun`.
      .filter((path) => path !== `node_modules/${platform.bunPackage}`),
    folder,
  );

/** @returns {Component[]} */
function npmComponents(paths, folder) {
  return paths.map((path) => {
    const { name = nameOf(path), version, license, integrity } = lockedPackage(path);
    const known = checkedLicense(name, license);
    return {
      name,
      version,
      license: known,
      purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
      integrity,
      texts: licenseTexts(join(folder, path), name, known),
    };
  });
}

/** The packages of Debian in the root file system of an image. */
export function debianComponents({ debian }, rootfs) {
  return debianPackages(debian).map(({ name, version, license }) => ({
    name,
    version,
    license: checkedLicense(name, license),
    purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${debian}&distro=debian-12`,
    integrity: undefined,
    // libgcc-s1 and libstdc++6 link to the folder of gcc-12-base.
    texts: [readFileSync(join(rootfs, "usr/share/doc", name, "copyright"), "utf8")],
  }));
}
