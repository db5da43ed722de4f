/**
 * A folder that is gone when the test ends.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'llamastead-test-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
