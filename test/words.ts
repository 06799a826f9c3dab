/** A list of names, written as one text: the documented fields or values of a vendor. */
export const words = (text: string): readonly string[] => text.trim().split(/\s+/);
