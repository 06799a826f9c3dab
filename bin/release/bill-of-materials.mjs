// The software bill of materials: the components of all files of a release in CycloneDX, each with the files that have
// it.
import { createHash } from "node:crypto";

/** @param contents The components of each file, by its name. */
export function billOfMaterials({ name, version, commit, created, contents }) {
  const byPurl = new Map();
  for (const [file, components] of Object.entries(contents)) {
    for (const each of components) {
      const known = byPurl.get(each.purl) ?? { ...each, files: [] };
      known.files.push(file);
      byPurl.set(each.purl, known);
    }
  }
  const components = [...byPurl.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
  const own = `pkg:npm/${name}@${version}`;
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    // Of the commit, not random, so that two builds are equal.
    serialNumber: `urn:uuid:${uuidOf(`${own} ${commit}`)}`,
    version: 1,
    metadata: {
      timestamp: created,
      component: {
        type: "application",
        "bom-ref": own,
        name,
        version,
        purl: own,
        licenses: licensesOf("MIT"),
      },
    },
    components: components.map(({ name, version, license, purl, integrity, files }) => ({
      type: "library",
      "bom-ref": purl,
      name,
      version,
      purl,
      licenses: licensesOf(license),
      ...(integrity && { hashes: [hashOf(integrity)] }),
      properties: files.map((file) => ({ name: "vexel:file", value: file })),
    })),
    dependencies: [{ ref: own, dependsOn: components.map(({ purl }) => purl) }],
  };
}

/** CycloneDX has SPDX's names of licenses in another field than its expressions. */
function licensesOf(license) {
  if (license.startsWith("LicenseRef-")) return [{ license: { name: license } }];
  return / /.test(license) ? [{ expression: license }] : [{ license: { id: license } }];
}

function hashOf(integrity) {
  const bytes = Buffer.from(integrity.slice("sha512-".length), "base64");
  return { alg: "SHA-512", content: bytes.toString("hex") };
}

function uuidOf(text) {
  const hex = createHash("sha256").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
