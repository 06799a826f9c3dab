/** Port: uploads of files in parts (`/v1/uploads`), without the content of the parts. */

export type UploadStatus = "pending" | "completed" | "cancelled";

export interface StoredUpload {
  readonly id: string;
  readonly owner: string;
  /** The file that the upload becomes, whose space is reserved. */
  readonly fileId: string;
  /** The size of the file. */
  readonly bytes: number;
  readonly filename: string;
  readonly purpose: string;
  /** When the file expires, in seconds after its creation. Null: the default of its purpose. */
  readonly fileSeconds: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly status: UploadStatus;
}

export interface StoredPart {
  readonly id: string;
  readonly bytes: number;
}

/** Every method rejects once the store is closed. */
export interface UploadStore {
  create(upload: StoredUpload): Promise<void>;
  /** Undefined: it does not exist, or belongs to another owner. */
  find(owner: string, id: string): Promise<StoredUpload | undefined>;
  /** False: the upload is not pending any more, or its parts would have more than `maxBytes` or `maxParts`. */
  addPart(
    uploadId: string,
    part: StoredPart,
    limits: { readonly maxBytes: number; readonly maxParts: number },
  ): Promise<boolean>;
  parts(uploadId: string): Promise<readonly StoredPart[]>;
  /** Ends a pending upload. False: it is not pending any more. */
  end(id: string, status: Exclude<UploadStatus, "pending">): Promise<boolean>;
  /** Uploads whose expiry is over, whatever their status. `now`: Unix milliseconds. */
  expired(now: number, limit: number): Promise<readonly StoredUpload[]>;
  /** Deletes the upload and its parts. Their content must be deleted already. */
  remove(id: string): Promise<void>;
}
