/**
 * Which version of Docker's API is spoken: dockerode sends none by itself, and an engine then takes its own
 * newest, which may have dropped what we use.
 */
import { AppError } from '../../errors.ts';

/** Docker 28.5's: the newest that the contract suite has run on. */
export const NEWEST_TESTED = '1.51';
/** Docker 20.10's. */
export const OLDEST = '1.41';

/**
 * The smaller of the newest tested and the engine's newest; the engine's oldest where that is newer still.
 * Throws AppError `docker_too_old`.
 */
export function negotiated(engine: { readonly newest: string; readonly oldest: string | undefined }): string {
  if (compareVersions(engine.newest, OLDEST) < 0) {
    throw new AppError('docker_too_old', `it speaks API ${engine.newest}, at least ${OLDEST} is needed`);
  }
  const common = compareVersions(engine.newest, NEWEST_TESTED) < 0 ? engine.newest : NEWEST_TESTED;
  const { oldest } = engine;
  return oldest !== undefined && compareVersions(common, oldest) < 0 ? oldest : common;
}

/** Negative: `a` is older. */
export function compareVersions(a: string, b: string): number {
  const [aMajor = 0, aMinor = 0] = a.split('.').map(Number);
  const [bMajor = 0, bMinor = 0] = b.split('.').map(Number);
  return aMajor - bMajor || aMinor - bMinor;
}
