/** English messages of the API reference. */
export const enReference = {
  "reference.description":
    "All endpoints of this gateway: the OpenAI-compatible API and the admin API.",
  "reference.key": "API key",
  "reference.models": "Model API",
  "reference.admin": "Admin API",
  "reference.intro.models":
    "The API that applications use. OpenAI's packages work with this base URL and an API key of this gateway.",
  "reference.intro.admin":
    "The API of this console, also for scripts. Scripts send the admin token or a personal access token.",
  "reference.document": "OpenAPI document",
  "reference.filter": "Filter operations",
  "reference.role": "Least role: {role}",
  "reference.required": "required",
  "reference.members": "Members of {name}",
  "reference.parameters": "Parameters",
  "reference.in.path": "In the path",
  "reference.in.query": "In the query",
  "reference.in.header": "A header",
  "reference.body.json": "Body (JSON)",
  "reference.body.form": "Body (form)",
  "reference.response": "Response {status}",
  "reference.error": "Error response",
  "reference.samples": "Code samples",
  "reference.try": "Try it",
  "reference.send": "Send request",
  "reference.result": "Response",
} as const satisfies Record<string, string>;
