/** Parses the declarations of contract/admin: interfaces, type aliases and constant arrays of strings. */
import { type Token, tokenize } from "./tokenize.ts";

export type TypeNode =
  | NameNode
  | { readonly is: "literal"; readonly value: string | number | boolean | null }
  | { readonly is: "array"; readonly item: TypeNode }
  | { readonly is: "union"; readonly members: readonly TypeNode[] }
  | ObjectNode;

export interface NameNode {
  readonly is: "name";
  readonly name: string;
  readonly parameters: readonly TypeNode[];
}

export interface ObjectNode {
  readonly is: "object";
  readonly members: readonly Member[];
  /** The type of members with any other name. */
  readonly others: TypeNode | undefined;
}

export interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: TypeNode;
  readonly description: string | undefined;
}

export interface Declaration {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly bases: readonly TypeNode[];
  readonly type: TypeNode;
  readonly description: string | undefined;
}

export function parseTypes(text: string): readonly Declaration[] {
  return new Parser(tokenize(text)).declarations();
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #comment: string | undefined;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  declarations(): readonly Declaration[] {
    const found: Declaration[] = [];
    while (this.#peek().kind !== "end") {
      this.#comment = undefined;
      this.#skipComments();
      const description = this.#comment;
      if (!this.#take("export")) this.#skipStatement();
      else if (this.#take("interface")) found.push(this.#interface(description));
      else if (this.#take("type")) found.push(this.#alias(description));
      else if (this.#take("const")) found.push(...this.#list());
      else this.#skipStatement();
    }
    return found;
  }

  #interface(description: string | undefined): Declaration {
    const [name, parameters] = [this.#word(), this.#parameterNames()];
    const bases: TypeNode[] = [];
    if (this.#take("extends")) {
      do bases.push(this.#type());
      while (this.#take(","));
    }
    return { name, parameters, bases, type: this.#object(), description };
  }

  #alias(description: string | undefined): Declaration {
    const [name, parameters] = [this.#word(), this.#parameterNames()];
    this.#expect("=");
    const type = this.#type();
    this.#expect(";");
    return { name, parameters, bases: [], type, description };
  }

  /**
   * `const names = ["a", "b"] as const`: `(typeof names)[number]` is the union of its strings. Other constants are
   * skipped.
   */
  #list(): readonly Declaration[] {
    const name = this.#word();
    const members: TypeNode[] = [];
    if (this.#take("=") && this.#take("[")) {
      while (this.#peek().kind === "string") {
        members.push({ is: "literal", value: this.#next().text });
        this.#take(",");
      }
    }
    this.#skipStatement();
    const type: TypeNode = { is: "union", members };
    const declaration = { name: `typeof_${name}`, parameters: [], bases: [], type };
    return members.length === 0 ? [] : [{ ...declaration, description: undefined }];
  }

  #parameterNames(): readonly string[] {
    const names: string[] = [];
    if (!this.#take("<")) return names;
    do names.push(this.#word());
    while (this.#take(","));
    this.#expect(">");
    return names;
  }

  #type(): TypeNode {
    this.#take("|");
    const members = [this.#member()];
    while (this.#take("|")) members.push(this.#member());
    const [only] = members;
    return members.length === 1 && only ? only : { is: "union", members };
  }

  /** One member of a union, with its brackets: `readonly string[]`. */
  #member(): TypeNode {
    this.#take("readonly");
    let type = this.#primary();
    while (this.#take("[")) {
      // `(typeof names)[number]`
      if (!this.#take("number")) type = { is: "array", item: type };
      this.#expect("]");
    }
    return type;
  }

  #primary(): TypeNode {
    if (this.#peek().text === "{" && this.#peek().kind === "punctuation") return this.#object();
    if (this.#take("(")) {
      const type = this.#type();
      this.#expect(")");
      return type;
    }
    const { kind, text } = this.#next();
    if (kind === "string") return { is: "literal", value: text };
    if (text === "null") return { is: "literal", value: null };
    if (text === "true" || text === "false") return { is: "literal", value: text === "true" };
    if (text === "typeof") return { is: "name", name: `typeof_${this.#word()}`, parameters: [] };
    if (/^\d/.test(text)) return { is: "literal", value: Number(text) };
    if (kind !== "word") throw new Error(`A type cannot begin with ${text}`);
    const parameters: TypeNode[] = [];
    if (this.#take("<")) {
      do parameters.push(this.#type());
      while (this.#take(","));
      this.#expect(">");
    }
    return { is: "name", name: text, parameters };
  }

  #object(): ObjectNode {
    this.#expect("{");
    const members: Member[] = [];
    let others: TypeNode | undefined;
    for (;;) {
      this.#comment = undefined;
      this.#skipComments();
      if (this.#take("}")) return { is: "object", members, others };
      const description = this.#comment;
      this.#take("readonly");
      if (this.#take("[")) {
        // `[option: string]: unknown`
        while (!this.#take("]")) this.#next();
        this.#expect(":");
        others = this.#type();
      } else {
        const name = this.#next().text;
        const isOptional = this.#take("?");
        this.#expect(":");
        members.push({ name, isOptional, type: this.#type(), description });
      }
      this.#take(";");
    }
  }

  #peek(): Token {
    this.#skipComments();
    return this.#tokens[this.#at] ?? { kind: "end", text: "" };
  }

  #next(): Token {
    const token = this.#peek();
    if (token.kind === "end") throw new Error("The declaration is incomplete");
    this.#at++;
    return token;
  }

  #word(): string {
    const { kind, text } = this.#next();
    if (kind !== "word") throw new Error(`Expected a name, got ${text}`);
    return text;
  }

  #take(text: string): boolean {
    const token = this.#peek();
    if (token.text !== text || token.kind === "string") return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new Error(`Expected ${text}, got ${this.#peek().text}`);
  }

  #skipComments(): void {
    for (let token = this.#tokens[this.#at]; token?.kind === "comment"; ) {
      this.#comment = token.text.replace(/\s*\n\s*\*\s?/g, " ").trim();
      token = this.#tokens[++this.#at];
    }
  }

  #skipStatement(): void {
    while (this.#peek().kind !== "end" && !this.#take(";")) this.#next();
  }
}
