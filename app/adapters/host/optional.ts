/** Reading files that need not be there. */
import { systemCode } from '../../errors.ts';

/** Null where the file is absent or refused: it does not say. */
export async function optional<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (thrown) {
    if (systemCode(thrown) !== undefined) return null;
    throw thrown;
  }
}
