/** The page cache, as far as it can be filled (types only). */
import type { Profile } from '../core/types.ts';

export interface ReadAhead {
  /** Reads the model's files, all parts and the projector; the bytes of them. Rejects with AppError. */
  read(profile: Pick<Profile, 'file' | 'projector'>): Promise<number>;
}
