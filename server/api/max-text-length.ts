/**
 * The longest text of a request, in UTF-16 units: one input of an embeddings request, or the prompt of an image request.
 * It is beyond the context of every model (128,000 tokens today), and keeps the copies that a request is made of within
 * a few times its size.
 */
export const maxTextLength = 4 * 1024 * 1024;
