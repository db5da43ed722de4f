/** File systems that are mounted in a folder, from `/proc/self/mountinfo` (format: proc(5)). */

/** Those below `folder` or on it, as `point device`: another disk in the same place is another line. */
export function mountsAt(mountinfo: string, folder: string): readonly string[] {
  const here = escaped(folder.replace(/\/+$/, ''));
  const found: string[] = [];
  for (const line of mountinfo.split('\n')) {
    const [, , device, , point] = line.split(' ');
    if (point === here || point?.startsWith(`${here}/`)) found.push(`${point} ${device}`);
  }
  return found;
}

/** The kernel writes what would break a line as octal numbers. */
function escaped(path: string): string {
  return path.replace(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
