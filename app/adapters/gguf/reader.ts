/**
 * Reads the header of one GGUF file by positioned reads: what is needed of the metadata, and every
 * tensor's name, type and size. Format: the GGUF specification, versions 2 and 3. Long arrays (token
 * tables) are passed over. Nothing is trusted: counts, lengths and offsets are bounded by the file.
 */
import { open } from 'node:fs/promises';
import { type GgufTensor, type GgufValue, tensorBytes } from '../../core/gguf-types.ts';
import { systemCode } from '../../errors.ts';
import { type ByteSource, byteSource, EndOfFile, TooLong } from './byte-source.ts';
import { problems, unreadable } from './problems.ts';
import { type Damaged, readName, readValue } from './values.ts';

/** The header of one file (one shard of a split model). */
export interface GgufHeader {
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly GgufTensor[];
  /** Bytes of the file. */
  readonly size: number;
  /** Modification time, Unix ms. */
  readonly mtime: number;
}

const MAGIC = 0x46554747; // "GGUF", little-endian
const MOST_ENTRIES = 65_536;
const MOST_TENSORS = 262_144;
const MOST_DIMS = 4;

/**
 * Reads `path`; `file` is its name in messages. Rejects with AppError `model_unreadable` whose details hold a
 * Problem that names the file and what is wrong with it.
 */
export async function readGgufHeader(path: string, file: string): Promise<GgufHeader> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    const code = systemCode(error);
    throw unreadable(
      code === 'ENOENT' ? problems.missing(file) : problems.notReadable(file, code ?? String(error)),
      error,
    );
  });
  try {
    const { size, mtimeMs } = await handle.stat();
    const header = await readHeader(byteSource(handle, size), file, size);
    return { ...header, size, mtime: mtimeMs };
  } catch (error) {
    if (error instanceof EndOfFile)
      throw unreadable(problems.truncated(file, error.size, error.wanted), error);
    if (error instanceof TooLong) throw unreadable(problems.damaged(file, error.message), error);
    const code = systemCode(error);
    if (code?.startsWith('E')) throw unreadable(problems.notReadable(file, code), error);
    throw error;
  } finally {
    await handle.close();
  }
}

async function readHeader(
  source: ByteSource,
  file: string,
  size: number,
): Promise<Pick<GgufHeader, 'metadata' | 'tensors'>> {
  await checkStart(source, file, size);
  const damaged = (what: string) => unreadable(problems.damaged(file, what));
  await source.need(16);
  const tensorCount = source.u64();
  const entryCount = source.u64();
  if (tensorCount > MOST_TENSORS) throw damaged(`it announces ${tensorCount} tensors`);
  if (entryCount > MOST_ENTRIES) throw damaged(`it announces ${entryCount} metadata entries`);
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < entryCount; i += 1) {
    const key = await readName(source, damaged);
    await source.need(4);
    metadata.set(key, await readValue(source, source.u32(), damaged));
  }
  const tensors: { tensor: GgufTensor; offset: number }[] = [];
  for (let i = 0; i < tensorCount; i += 1) tensors.push(await readTensor(source, file, damaged));
  checkData(tensors, dataStart(source, metadata, damaged), file, size);
  return { metadata, tensors: tensors.map(({ tensor }) => tensor) };
}

async function checkStart(source: ByteSource, file: string, size: number): Promise<void> {
  if (size < 24) {
    throw unreadable(
      size === 0 ? problems.truncated(file, 0, 24) : problems.notGguf(file, await startOf(source, size)),
    );
  }
  await source.need(8);
  const magic = source.u32();
  if (magic !== MAGIC) {
    source.seek(0);
    throw unreadable(problems.notGguf(file, await startOf(source, size)));
  }
  const version = source.u32();
  if (version === 2 || version === 3) return;
  const swapped =
    ((version & 0xff) << 24) | ((version & 0xff00) << 8) | ((version >>> 8) & 0xff00) | (version >>> 24);
  throw unreadable(
    swapped === 3 || swapped === 2 ? problems.bigEndian(file) : problems.version(file, version),
  );
}

/** The first bytes as people can compare them: text where printable, else hex. */
async function startOf(source: ByteSource, size: number): Promise<string> {
  const length = Math.min(size, 16);
  await source.need(length);
  const bytes = source.bytes(length);
  if (bytes.every((byte) => byte === 0)) return 'zeros';
  const printable = bytes.every((byte) => byte >= 0x20 && byte < 0x7f);
  return printable ? JSON.stringify(bytes.toString('latin1')) : `bytes ${bytes.toString('hex')}`;
}

async function readTensor(
  source: ByteSource,
  file: string,
  damaged: Damaged,
): Promise<{ tensor: GgufTensor; offset: number }> {
  const name = await readName(source, damaged);
  await source.need(4);
  const dimCount = source.u32();
  if (dimCount > MOST_DIMS) throw damaged(`tensor "${name}" has ${dimCount} dimensions`);
  await source.need(dimCount * 8 + 12);
  const dims = Array.from({ length: dimCount }, () => source.u64());
  const type = source.u32();
  const offset = source.u64();
  const bytes = tensorBytes(type, dims);
  if (bytes === undefined) throw unreadable(problems.tensorType(file, name, type));
  return { tensor: { name, type, dims, bytes }, offset };
}

function dataStart(source: ByteSource, metadata: ReadonlyMap<string, GgufValue>, damaged: Damaged): number {
  const alignment = metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || alignment < 1 || alignment > 1 << 20) {
    throw damaged(`its alignment is ${JSON.stringify(alignment)}`);
  }
  return Math.ceil(source.position() / alignment) * alignment;
}

function checkData(
  tensors: readonly { tensor: GgufTensor; offset: number }[],
  start: number,
  file: string,
  size: number,
): void {
  const end = tensors.reduce(
    (last, { tensor, offset }) => Math.max(last, start + offset + tensor.bytes),
    start,
  );
  if (tensors.length > 0 && end > size) throw unreadable(problems.truncated(file, size, end));
}
