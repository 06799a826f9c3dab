/** The scope of Google's access tokens for Vertex AI. */
export const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform";
