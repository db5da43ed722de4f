/** Reads the size of a PNG from its header (W3C PNG specification, IHDR). */
import { readFileSync } from 'node:fs';

const SIGNATURE = '89504e470d0a1a0a';

/** Width and height in pixels. Throws for a file that is no PNG. */
export function pngSize(path: string): { readonly width: number; readonly height: number } {
  const bytes = readFileSync(path);
  if (bytes.subarray(0, 8).toString('hex') !== SIGNATURE) throw new Error(`${path} is no PNG`);
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}
