/** JSON schemas of the types of contract/admin, for the OpenAPI document. The declarations are the only source. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isExecutable } from "../../lib/executable.ts";
import {
  type Declaration,
  type NameNode,
  type ObjectNode,
  parseTypes,
  type TypeNode,
} from "./parse-types.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

const folder = join(import.meta.dir, "../../../contract/admin");

/** The declarations of the contract, by name. */
function readDeclarations(): ReadonlyMap<string, Declaration> {
  const texts = isExecutable
    ? [readFileSync(join(import.meta.dir, "contract-admin.declarations"), "utf8")]
    : readdirSync(folder)
        .filter((name) => name.endsWith(".ts"))
        .map((name) => readFileSync(join(folder, name), "utf8"));
  return new Map(texts.flatMap(parseTypes).map((declaration) => [declaration.name, declaration]));
}

const primitives: Readonly<Record<string, JsonSchema>> = {
  string: { type: "string" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  unknown: {},
};

export class TypeSchemas {
  readonly #declarations: ReadonlyMap<string, Declaration>;
  /** The named types that schemas refer to. */
  readonly #used = new Map<string, JsonSchema>();

  constructor(declarations = readDeclarations()) {
    this.#declarations = declarations;
  }

  /** `type`: such as `Page<ApiKey>`. Throws if the contract does not have it. */
  schemaOf(type: string): JsonSchema {
    const [declaration] = parseTypes(`export type Response = ${type};`);
    if (!declaration) throw new Error(`${type} is not a type`);
    return this.#schema(declaration.type);
  }

  /** The named types that schemas have referred to so far, for `components` of the document. */
  components(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #schema(type: TypeNode): JsonSchema {
    switch (type.is) {
      case "literal":
        return type.value === null ? { type: "null" } : { const: type.value };
      case "array":
        return { type: "array", items: this.#schema(type.item) };
      case "union":
        return this.#union(type.members);
      case "object":
        return this.#object(type);
      case "name":
        return this.#named(type);
    }
  }

  /** String literals become one `enum`, every other member an alternative of `anyOf`. */
  #union(members: readonly TypeNode[]): JsonSchema {
    const texts = members.flatMap((each) =>
      each.is === "literal" && typeof each.value === "string" ? [each.value] : [],
    );
    const others = members
      .filter((each) => each.is !== "literal" || typeof each.value !== "string")
      .map((each) => this.#schema(each));
    const schemas = [...(texts.length > 0 ? [{ enum: texts }] : []), ...others];
    return schemas.length === 1 && schemas[0] ? schemas[0] : { anyOf: schemas };
  }

  #object({ members, others }: ObjectNode): JsonSchema {
    const properties = members.map(({ name, type, description }) => [
      name,
      { ...this.#schema(type), ...(description && { description }) },
    ]);
    const required = members.filter(({ isOptional }) => !isOptional).map(({ name }) => name);
    return {
      type: "object",
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      additionalProperties: others ? this.#schema(others) : false,
    };
  }

  #named({ name, parameters }: NameNode): JsonSchema {
    const [first, second] = parameters;
    if (name === "Readonly" && first) return this.#schema(first);
    if (name === "Record" && second) {
      return { type: "object", additionalProperties: this.#schema(second) };
    }
    const isRecord = first?.is === "name" && first.name === "Record";
    // A record has no required members.
    if (name === "Partial" && isRecord) return this.#schema(first);
    if (parameters.length > 0 || name.startsWith("typeof_")) {
      return this.#schema(this.#resolve(name, parameters));
    }
    return primitives[name] ?? this.#reference(name);
  }

  #reference(name: string): JsonSchema {
    if (!this.#used.has(name)) {
      // Entered first: a type may refer to itself.
      this.#used.set(name, {});
      const { description } = this.#declaration(name);
      const schema = this.#schema(this.#resolve(name, []));
      this.#used.set(name, { ...schema, ...(description && { description }) });
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #declaration(name: string): Declaration {
    const declaration = this.#declarations.get(name);
    if (!declaration) throw new Error(`contract/admin has no type ${name}`);
    return declaration;
  }

  /** The type behind a name, with its arguments, and with the members of the interfaces that it extends. */
  #resolve(name: string, parameters: readonly TypeNode[]): TypeNode {
    const [first, second] = parameters;
    if (isUtilityType(name) && first) {
      return applyUtilityType(name, this.#objectOf(first), second);
    }
    const declaration = this.#declaration(name);
    const given = new Map(
      declaration.parameters.flatMap((each, at) => {
        const argument = parameters[at];
        return argument ? [[each, argument] as const] : [];
      }),
    );
    const type = substituted(declaration.type, given);
    if (type.is !== "object") return type;
    const bases = declaration.bases.map((base) => this.#objectOf(substituted(base, given)));
    return {
      is: "object",
      members: [...bases.flatMap(({ members }) => members), ...type.members],
      others: type.others ?? bases.find(({ others }) => others)?.others,
    };
  }

  #objectOf(type: TypeNode): ObjectNode {
    const found = type.is === "name" ? this.#resolve(type.name, type.parameters) : type;
    if (found.is !== "object") throw new Error("Only an object has members");
    return found;
  }
}

const utilityTypes = ["Partial", "Omit", "Pick"] as const;
type UtilityType = (typeof utilityTypes)[number];
const isUtilityType = (name: string): name is UtilityType =>
  (utilityTypes as readonly string[]).includes(name);

/** `Partial<Type>`, `Omit<Type, Names>` or `Pick<Type, Names>`. */
function applyUtilityType(
  utility: UtilityType,
  { members, others }: ObjectNode,
  names: TypeNode | undefined,
): ObjectNode {
  if (utility === "Partial") {
    return {
      is: "object",
      members: members.map((each) => ({ ...each, isOptional: true })),
      others,
    };
  }
  const listed = names?.is === "union" ? names.members : [names];
  const isListed = (name: string): boolean =>
    listed.some((each) => each?.is === "literal" && each.value === name);
  const kept = members.filter(({ name }) => isListed(name) === (utility === "Pick"));
  return { is: "object", members: kept, others };
}

/** The type with arguments in place of the names of its parameters. */
function substituted(type: TypeNode, given: ReadonlyMap<string, TypeNode>): TypeNode {
  const inside = (each: TypeNode): TypeNode => substituted(each, given);
  switch (type.is) {
    case "literal":
      return type;
    case "array":
      return { ...type, item: inside(type.item) };
    case "union":
      return { ...type, members: type.members.map(inside) };
    case "object":
      return {
        ...type,
        members: type.members.map((each) => ({ ...each, type: inside(each.type) })),
        others: type.others && inside(type.others),
      };
    case "name":
      return given.get(type.name) ?? { ...type, parameters: type.parameters.map(inside) };
  }
}
