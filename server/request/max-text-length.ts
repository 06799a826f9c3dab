/**
 * The maximum length of a text in a request, in UTF-16 code units: one input of an embeddings request, or the prompt of
 * an image request. It exceeds the context length of every model (128,000 tokens today), and keeps the memory of a
 * request within a few times its size.
 */
export const maxTextLength = 4 * 1024 * 1024;
