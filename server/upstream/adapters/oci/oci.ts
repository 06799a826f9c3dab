/** Oracle's Generative AI: Cohere's models in a compartment, with requests signed by a user's key. */
import { createPrivateKey } from "node:crypto";
import { z } from "zod";
import type { EmbeddingsAdapter, Vendor } from "../../adapter.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  ExtraFields,
  Target,
  Upstream,
} from "../../contract.ts";
import { type LoadedPart, loadedEntries, onlyImages } from "../../mixed-input.ts";
import type { TaskTypeTable } from "../../task-type.ts";
import { cohereFuses, cohereLengths, cohereOutputTypes } from "../cohere.ts";
import { dataUrlOf, jsonRequestFor, ownHeaders } from "../wire/build-request.ts";
import { commonImageTypes } from "../wire/image-parts.ts";
import { isCount, memberOf } from "../wire/members.ts";
import { taskTypeOf, textsOf, usageOf, vectorRows } from "../wire/native-embeddings.ts";
import { nativeErrorReader } from "../wire/native-errors.ts";
import { truncation } from "../wire/truncation.ts";
import { type OciSigner, signForOci, signStreamForOci } from "./signature.ts";

interface OciOptions {
  readonly region?: string;
  readonly compartmentId?: string;
  readonly tenancy?: string;
  readonly user?: string;
  readonly fingerprint?: string;
  readonly privateKey?: string;
}

const optionsOf = (upstream: Upstream): OciOptions => upstream.options;

const baseUrlOf = (upstream: Upstream): string =>
  upstream.baseUrl ??
  `https://inference.generativeai.${optionsOf(upstream).region}.oci.oraclecloud.com`;

const taskTypes: TaskTypeTable = {
  field: "inputType",
  values: {
    query: "SEARCH_QUERY",
    document: "SEARCH_DOCUMENT",
    classification: "CLASSIFICATION",
    clustering: "CLUSTERING",
  },
};

// docs.oracle.com/en-us/iaas/Content/generative-ai, Cohere Embed: 96 inputs per request, and Cohere's own dimensions.
function capabilities({ model }: Target): EmbeddingCapabilities {
  const dimensions = cohereLengths(model);
  return {
    maxItems: 96,
    base64: false,
    tokens: false,
    taskTypes,
    ...(dimensions && { dimensions }),
    // oci 2.189.0, EmbedTextDetails.embedding_types: as Cohere's.
    ...cohereOutputTypes(model, "embeddingTypes"),
    ...imagesOf(model),
  };
}

/** oci 2.189.0, EmbedTextDetails: the models for images are those of Embed 3 with `image` in the name, and Embed 4. */
const isImageModel3 = (model: string): boolean => /embed-.*-image-v3/.test(model);

/**
 * docs.oracle.com/iaas/releasenotes/generative-ai/cohere-embed-4-new-features.htm, 2026-05-09: "You can include multiple
 * text inputs with one image".
 */
function imagesOf(model: string): Pick<EmbeddingCapabilities, "images"> {
  const common = { types: commonImageTypes, maxItems: 1, maxPerEntry: 1 };
  if (isImageModel3(model)) return { images: { ...common, maxBytes: 5_000_000 } };
  return cohereFuses(model) ? { images: { ...common, fuses: "sequence" } } : {};
}

const contentOf = (part: LoadedPart): ExtraFields =>
  part.kind === "text"
    ? { type: "TEXT", text: part.text }
    : { type: "IMAGE", imageUrl: { url: dataUrlOf(part.image.file) } };

function inputOf(query: EmbeddingsQuery, target: Target): ExtraFields {
  const { input } = query;
  const inputType = taskTypeOf(query, capabilities(target));
  if (input.kind !== "mixed") return { inputs: textsOf(query), inputType };
  if (isImageModel3(target.model))
    return { inputs: onlyImages(input).map(({ file }) => dataUrlOf(file)), inputType: "IMAGE" };
  return { embedContents: loadedEntries(input).flat().map(contentOf), inputType };
}

/** The id distinguishes a dedicated endpoint from a model. */
const servingMode = (model: string) =>
  model.startsWith("ocid1.generativeaiendpoint.")
    ? { servingType: "DEDICATED", endpointId: model }
    : { servingType: "ON_DEMAND", modelId: model };

const embeddings: EmbeddingsAdapter = {
  capabilities,
  toUpstream: (query, target) => {
    const { upstream, model } = target;
    const { mayTruncate, extraFields } = truncation(query);
    const url = `${baseUrlOf(upstream)}/20231130/actions/embedText`;
    return jsonRequestFor(query)(url, ownHeaders(upstream), {
      truncate: mayTruncate ? "END" : "NONE",
      ...extraFields,
      compartmentId: optionsOf(upstream).compartmentId,
      servingMode: servingMode(model),
      ...inputOf(query, target),
      outputDimensions: query.dimensions,
      embeddingTypes: query.outputType && [query.outputType.type],
    });
  },
  fromUpstream: async (response, { outputType }) => {
    const body = await response.jsonWithVectors();
    const counts = [memberOf(body, "inputTextTokenCounts")].flat();
    const total = counts.every(isCount)
      ? counts.reduce((sum, count) => sum + count, 0)
      : memberOf(memberOf(body, "usage"), "promptTokens");
    const list = outputType
      ? memberOf(memberOf(body, "embeddingsByType"), outputType.type)
      : memberOf(body, "embeddings");
    return { vectors: vectorRows(list), ...usageOf(total) };
  },
};

function signerOf(upstream: Upstream): OciSigner | undefined {
  const { tenancy, user, fingerprint, privateKey } = optionsOf(upstream);
  return tenancy && user && fingerprint && privateKey
    ? { tenancy, user, fingerprint, privateKey }
    : undefined;
}

const ocid = z
  .string()
  .max(255)
  .regex(/^ocid1\.[\w.-]+$/, "must be an OCID, such as ocid1.user.oc1..aaaa");

/** The error message does not quote the key. */
const pem = z
  .string()
  .max(16_384)
  .refine((text) => {
    try {
      return createPrivateKey(text).asymmetricKeyType === "rsa";
    } catch {
      return false;
    }
  }, "is not an RSA private key in PEM, without a passphrase");

export const oci: Vendor = {
  kind: {
    name: "oci",
    needs: ["region", "compartmentId", "tenancy", "user", "fingerprint", "privateKey"],
    serves: "embedding",
    options: {
      region: z
        .string()
        .max(100)
        .regex(/^[a-z0-9-]+$/, "must be a region's name, such as us-chicago-1")
        .optional()
        .describe("The region, such as us-chicago-1."),
      compartmentId: ocid.optional().describe("The OCID of the compartment that is billed."),
      tenancy: ocid.optional().describe("The OCID of the tenancy."),
      user: ocid.optional().describe("The OCID of the user whose key signs the requests."),
      fingerprint: z
        .string()
        .max(200)
        .regex(/^[0-9a-f:]+$/i, "must be hexadecimal digits and colons")
        .optional()
        .describe("The fingerprint of the API signing key."),
      privateKey: pem.optional().meta({
        description: "The API signing key: an RSA private key in PEM.",
        multiline: true,
      }),
    },
  },
  adapter: {
    embeddings,
    sign: (request, upstream, now) => {
      const signer = signerOf(upstream);
      // A body that is streamed is signed by `signStreamed`: its bytes must be read first.
      if (!signer || typeof request.body === "object") return request;
      return signForOci(request, signer, now);
    },
    signStreamed: async (request, upstream, now) => {
      const signer = signerOf(upstream);
      return signer ? signStreamForOci(request, signer, now) : request;
    },
    probe: (upstream) => {
      const { region, compartmentId } = optionsOf(upstream);
      const root = upstream.baseUrl ?? `https://generativeai.${region}.oci.oraclecloud.com`;
      const queryString = `compartmentId=${encodeURIComponent(compartmentId ?? "")}&limit=1`;
      return {
        url: `${root}/20231130/models?${queryString}`,
        headers: ownHeaders(upstream),
      };
    },
    readError: nativeErrorReader({
      names: (upstream) => {
        const { region: _, ...own } = optionsOf(upstream);
        return [...Object.values(own), new URL(baseUrlOf(upstream)).host];
      },
      // docs.oracle.com/en-us/iaas/Content/API/References/apierrors.htm: missing permissions also return 404.
      classify: ({ status, message, body }) => {
        if (memberOf(body, "code") === "NotAuthorizedOrNotFound") return "no such model";
        if (status === 404 && /\b(model|entity)\b.*\bnot found\b/i.test(message))
          return "no such model";
        return memberOf(body, "code") === "QuotaExceeded" && "no credit";
      },
    }),
  },
};
