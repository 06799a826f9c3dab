/** The part of Swagger UI that the API reference uses. The package has no types. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  interface SentRequest {
    readonly url: string;
    readonly headers: Record<string, string>;
  }

  interface SwaggerUiOptions {
    readonly domNode: HTMLElement;
    readonly spec: unknown;
    readonly plugins: readonly unknown[];
    readonly docExpansion: "list" | "full" | "none";
    /** -1: the schemas are not listed below the operations. */
    readonly defaultModelsExpandDepth: number;
    readonly defaultModelRendering: "example" | "model";
    readonly filter: boolean;
    readonly syntaxHighlight: boolean;
    readonly validatorUrl: null;
    readonly requestInterceptor: (request: SentRequest) => SentRequest;
    readonly responseInterceptor: <
      Response extends { readonly status: number; readonly url: string },
    >(
      response: Response,
    ) => Response;
  }

  const SwaggerUI: (options: SwaggerUiOptions) => unknown;

  // biome-ignore lint/style/noDefaultExport: the package has a default export.
  export default SwaggerUI;
}
